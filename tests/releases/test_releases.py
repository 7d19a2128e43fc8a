# SPDX-License-Identifier: Apache-2.0
"""Each release of upstream's Placement since Stein is swapped for ours and back, on one database.

The release makes the tables by its own command, and serves what Nova of its time sends. Ours
upgrades the tables and serves them; then the release serves the upgraded tables, and then ours.
"""

import contextlib
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.clients.conftest import without_cloud
from tests.placement.client import UUID
from tests.releases.environments import DRIVERS, RELEASES, SERVICE, environment_of
from tests.servers.placement import placement_server
from tests.servers.processes import ServerProgram, serving
from trueup.placement.store import migrations
from trueup.placement.store.engine.database import Database

CONF = """
[DEFAULT]
use_stderr = true
[api]
auth_strategy = noauth2
[oslo_policy]
# Newer than these releases, and stricter.
enforce_scope = false
enforce_new_defaults = false
[placement_database]
connection = {url}
"""
AGGREGATE = UUID(9)


@dataclass
class Ledger:
    """A cloud's ledger over one API: writes to it, and everything that can be read of it."""

    version: str
    consumers: list[int] = field(default_factory=list)

    def fill(self, url: str) -> None:
        """Two hosts, of which one has a card, with traits and an aggregate."""
        for number, parent in ((1, None), (2, 1), (3, None)):
            body = {"uuid": UUID(number), "name": f"host{number}"}
            if parent:
                body["parent_provider_uuid"] = UUID(parent)
            self.call(url, "POST", "/resource_providers", body)
            stock = {"VCPU": {"total": 8}, "CUSTOM_CARD": {"total": 4}}
            self.call(url, "PUT", "/resource_classes/CUSTOM_CARD")
            chosen = {"resource_provider_generation": 0, "inventories": stock}
            self.call(url, "PUT", f"/resource_providers/{UUID(number)}/inventories", chosen)
            self.call(url, "PUT", "/traits/CUSTOM_FAST")
            traits = {"resource_provider_generation": 1, "traits": ["CUSTOM_FAST"]}
            self.call(url, "PUT", f"/resource_providers/{UUID(number)}/traits", traits)
            rack = {"resource_provider_generation": 2, "aggregates": [AGGREGATE]}
            self.call(url, "PUT", f"/resource_providers/{UUID(number)}/aggregates", rack)

    def claim(self, url: str, consumer: int) -> None:
        """A server on the first host that the service offers; an earlier one moves to it."""
        query = "/allocation_candidates?resources=VCPU:1,CUSTOM_CARD:1&limit=1"
        [offered] = self.call(url, "GET", query)["allocation_requests"]
        body = {"project_id": UUID(50), "user_id": UUID(51), **offered}
        known = self.call(url, "GET", f"/allocations/{UUID(consumer)}")
        body["consumer_generation"] = known.get("consumer_generation")
        if self.version in ("1.38", "1.39"):
            body["consumer_type"] = "INSTANCE"
        self.call(url, "PUT", f"/allocations/{UUID(consumer)}", body)
        self.consumers.append(consumer)

    def read(self, url: str) -> dict[str, Any]:
        """Every answer about the providers and the consumers."""
        paths = [f"/allocations/{UUID(number)}" for number in sorted({*self.consumers})]
        paths += ["/resource_classes", "/traits?name=startswith:CUSTOM", "/resource_providers"]
        for number in (1, 2, 3):
            about = f"/resource_providers/{UUID(number)}"
            paths += [about, *(f"{about}/{part}" for part in ("inventories", "usages", "traits"))]
            paths += [f"{about}/aggregates", f"{about}/allocations"]
        paths.append(f"/usages?project_id={UUID(50)}")
        paths.append("/allocation_candidates?resources=VCPU:1&required=CUSTOM_FAST")
        return {path: sortable(self.call(url, "GET", path)) for path in paths}

    def call(self, url: str, method: str, path: str, body: Any = None) -> Any:
        # Upstream fails on PostgreSQL from 1.38 on.
        version = min(self.version, "1.37") if path.startswith("/usages") else self.version
        headers = {"x-auth-token": "admin", "openstack-api-version": f"placement {version}"}
        answer = requests.request(method, url + path, json=body, headers=headers, timeout=60)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None


def sortable(value: Any) -> Any:
    """The same document, in which lists have one order: it is the database's."""
    if isinstance(value, dict):
        return {key: sortable(one) for key, one in value.items()}
    if isinstance(value, list):
        return sorted(map(sortable, value), key=repr)
    return value


@dataclass(frozen=True)
class Release:
    """A release of upstream's Placement in an environment of its own."""

    environment: Path
    folder: Path

    def serve(self) -> contextlib.AbstractContextManager[int]:
        python = self.environment / "bin" / "python"
        program = ServerProgram(
            lambda port: (str(python), str(SERVICE), str(port)),
            answers,
            self.folder / "older.log",
            environment=without_cloud() | {"OS_PLACEMENT_CONFIG_DIR": str(self.folder)},
        )
        return serving(program)

    def manage(self, *words: str) -> None:
        program = str(self.environment / "bin" / "placement-manage")
        conf = str(self.folder / "placement.conf")
        subprocess.run([program, "--config-file", conf, *words], check=True, capture_output=True)


def answers(port: int) -> bool:
    with contextlib.suppress(requests.ConnectionError):
        return requests.get(f"http://127.0.0.1:{port}/", timeout=10).ok
    return False


@pytest.mark.parametrize("kind", DRIVERS)
@pytest.mark.parametrize("version", RELEASES)
def test_a_release_is_swapped_for_ours_and_back(
    version: str, kind: str, fresh_database: Callable[[str], str], tmp_path: Path
) -> None:
    url = fresh_database(kind)
    older = url.replace("+psycopg:", "+psycopg2:")
    (tmp_path / "placement.conf").write_text(CONF.format(url=older.replace("%", "%%")))
    release = Release(environment_of(version), tmp_path)
    ledger = Ledger(RELEASES[version][1])
    release.manage("db", "sync")
    with release.serve() as port:
        there = f"http://127.0.0.1:{port}"
        ledger.fill(there)
        for consumer in (101, 102, 103):
            ledger.claim(there, consumer)
        before = ledger.read(there)
    upgrade(url)
    with placement_server("trueup", url) as ours:
        assert ledger.read(ours.url) == before
        ledger.claim(ours.url, 104)
        ledger.claim(ours.url, 101)
        after = ledger.read(ours.url)
    with release.serve() as port:
        there = f"http://127.0.0.1:{port}"
        assert ledger.read(there) == after
        ledger.claim(there, 105)
        ledger.claim(there, 104)
        back = ledger.read(there)
    with placement_server("trueup", url) as ours:
        assert ledger.read(ours.url) == back


def upgrade(url: str) -> None:
    """As `trueup-manage db sync` does."""
    with contextlib.closing(Database(url)) as database:
        migrations.upgrade(database)
        database.add_own_tables()
