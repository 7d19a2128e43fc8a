# SPDX-License-Identifier: Apache-2.0
"""Between the service and MariaDB, a proxy reads the statements and chooses a session for each."""

from collections.abc import Callable
from contextlib import closing

import pytest
from sqlalchemy.engine import make_url

from tests.deployment.test_poolers import NOAUTH, claims_of_many
from tests.placement.client import Client
from tests.servers.databases import as_text
from tests.servers.multiplexer import multiplexer_to
from trueup.placement.app import make_app
from trueup.placement.store import migrations, schema
from trueup.placement.store.engine.database import Database


@pytest.mark.parametrize("kind", ["mariadb", "mysqldb"])
def test_a_client_that_keeps_its_session_is_served(
    kind: str, fresh_database: Callable[[str], str]
) -> None:
    """No read comes from the replica, which lacks every write of this test."""
    url = fresh_database(kind)
    schema.create(url)
    with multiplexer_to(make_url(url), pins=True) as proxied:
        claims_of_many(as_text(proxied))


def test_the_schema_is_made_through_a_proxy(fresh_database: Callable[[str], str]) -> None:
    url = make_url(fresh_database("mariadb"))
    with (
        multiplexer_to(url, pins=True) as proxied,
        closing(Database(as_text(proxied))) as database,
    ):
        migrations.upgrade(database)
    with closing(Database(as_text(url))) as database:
        assert migrations.revision(database)


def test_a_transaction_in_the_session_of_somebody_else_is_refused(
    fresh_database: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    """At its isolation level, a claim would see the usage from before it waited."""
    url = fresh_database("mariadb")
    schema.create(url)
    with (
        multiplexer_to(make_url(url), pins=False) as proxied,
        closing(make_app(as_text(proxied), NOAUTH)) as application,
    ):
        client = Client(application)
        assert client.get("/").status == 200
        read = [client.get("/resource_providers").status for _ in range(8)]
        made = [client.post("/resource_providers", {"name": f"one{n}"}).status for n in range(8)]
    # Now and then a transaction meets its own session.
    assert {*read, *made} - {200} == {503}
    with closing(make_app(url, NOAUTH)) as application:
        found = Client(application).get("/resource_providers").json["resource_providers"]
        assert len(found) == made.count(200)
    assert "docs/service/databases.md" in caplog.text
