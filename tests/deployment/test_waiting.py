# SPDX-License-Identifier: Apache-2.0
"""While writes wait for a lock that somebody else holds, a worker serves the others."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from tests.deployment.processes import SCRIPTS, Process, server
from tests.deployment.test_web_servers import ADMIN, written
from tests.placement.client import UUID, Client, claim
from tests.servers.processes import poll
from trueup.placement.app import make_app
from trueup.placement.store import schema

CLAIMS, THREADS = 12, 3
LOCK = "SELECT * FROM resource_providers FOR UPDATE"
NOAUTH = {"api": {"auth_strategy": "noauth2"}}
# The lock is held for as long as the test lasts, and nobody gives up before.
PATIENT = "[trueup]\nlock_wait_timeout = 600\n"


def uwsgi(port: int) -> list[str]:
    return [
        str(SCRIPTS / "uwsgi"),
        *f"--master --enable-threads --processes 1 --threads {THREADS} --die-on-term".split(),
        *f"--need-app --http-socket 127.0.0.1:{port} --module trueup.wsgi:application".split(),
    ]


def put_claim(placement: Process, consumer: int) -> int:
    return placement.put(f"/allocations/{UUID(consumer)}", claim({1: {"VCPU": 1}}), **ADMIN)


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_a_lock_stops_those_who_need_it_and_nobody_else(
    kind: str, fresh_database: Callable[[str], str], tmp_path: Path
) -> None:
    url = fresh_database(kind)
    schema.create(url)
    application = make_app(url, NOAUTH)
    Client(application).make_provider(1, inventories={"VCPU": 64})
    application.close()
    statuses: list[Any] = []
    driver = {"postgresql": "postgresql+psycopg"}.get(kind, "mysql+pymysql")
    engine = sqlalchemy.create_engine(make_url(url).set(drivername=driver), poolclass=NullPool)
    with (
        server(uwsgi, tmp_path, written(tmp_path, url, PATIENT)) as placement,
        ThreadPoolExecutor(CLAIMS) as clients,
    ):
        assert placement.get("/allocation_candidates?resources=VCPU:1", **ADMIN)[0] == 200
        with engine.connect() as other:
            other.execute(sqlalchemy.text(LOCK))
            claims = [clients.submit(put_claim, placement, 1 + one) for one in range(CLAIMS)]
            # All but those that may wait are refused.
            assert poll(lambda: sum(one.done() for one in claims) > CLAIMS - THREADS, 60)
            assert placement.get("/")[0] == 200
            assert placement.get("/resource_providers", **ADMIN)[0] == 200
            assert placement.get("/allocation_candidates?resources=VCPU:1", **ADMIN)[0] == 200
            assert placement.get(f"/allocations/{UUID(1)}", **ADMIN)[0] == 200
            waiting = [one for one in claims if not one.done()]
            assert len(waiting) == THREADS - 1
        statuses = [one.result() for one in claims]
        assert put_claim(placement, 99) == 204
    assert sorted(statuses) == [204] * (THREADS - 1) + [503] * (CLAIMS - THREADS + 1)
