# SPDX-License-Identifier: Apache-2.0
"""A small cloud of the lab with one defect of each kind, for a test to break further.

Built once; each test gets a copy of its files and a Placement of its own over them.
"""

import json
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from tests.clouds.ledger import HEADERS, ledger_in
from tests.clouds.nova_services import NovaServices, beside_placement, cell_urls
from tests.reconcile.observing import confirmed_by
from tests.servers.placement import placement_server
from trueup import lab
from trueup.lab.nova.databases import sqlite_url
from trueup.lab.serving import serve
from trueup.reconcile import changes
from trueup.reconcile.collect import collect
from trueup.reconcile.plan import Plan, consumers_of, make_plan
from trueup.reconcile.runs.apply import apply
from trueup.reconcile.runs.journal import Journal, Origin, Outcome
from trueup.reconcile.runs.journals import applying
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.connect import from_nova_conf
from trueup.reconcile.steps import Step

SEED, HOSTS, INSTANCES = 1, 6, 24
LEDGER_TABLES = ("allocations", "consumers", "inventories", "resource_providers")


@dataclass(frozen=True, slots=True)
class Template:
    """A cloud's files, at rest. `planted` are the consumers by the defect they have."""

    folder: Path
    placement_url: str
    planted: Mapping[str, lab.Planted]


@dataclass(frozen=True, slots=True)
class Small:
    """A running copy."""

    folder: Path
    nova_conf: Path
    placement_url: str
    planted: Mapping[str, lab.Planted]
    cloud: Cloud
    services: NovaServices

    def consumer(self, defect: str) -> str:
        return self.planted[defect].consumer_uuid

    def sql(self, database: str, statement: str, *values: object) -> list[dict[str, Any]]:
        """By hand, in `nova_api`, `nova_cell1`, …, `placement`."""
        with closing(sqlite3.connect(self.folder / f"{database}.sqlite")) as connection:
            connection.row_factory = sqlite3.Row
            found = [dict(row) for row in connection.execute(statement, values)]
            connection.commit()
            return found

    def change_instance(self, defect: str, **columns: object) -> None:
        """Set columns of the instance with this defect."""
        named = ", ".join(f"{name} = ?" for name in columns)
        statement = f"UPDATE instances SET {named} WHERE uuid = ?"
        cell = f"nova_{self.planted[defect].cell}"
        self.sql(cell, statement, *columns.values(), self.consumer(defect))

    def call(
        self, method: str, path: str, body: object = None, minor: int = 36
    ) -> requests.Response:
        """One request of an administrator, at the microversion that Nova uses."""
        content = None if body is None else json.dumps(body)
        headers = HEADERS | {"OpenStack-API-Version": f"placement 1.{minor}"}
        if content:
            headers["Content-Type"] = "application/json"
        url = f"{self.placement_url}{path}"
        return requests.request(method, url, headers=headers, data=content, timeout=30)

    def holding(self, consumer: str) -> dict[str, Any]:
        return self.call("GET", f"/allocations/{consumer}").json()

    def ledger(self) -> dict[str, Any]:
        """What Placement keeps, without generations: `{"providers": …, "allocations": …}`.

        PERF: from its tables, which takes a hundredth of the time of fifty requests.
        """
        return ledger_in(self.folder / "placement.sqlite")

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """What Placement keeps, to the last generation."""
        return {name: self.sql("placement", f"SELECT * FROM {name}") for name in LEDGER_TABLES}

    def plan(self, *defects: str) -> Plan:
        """A plan for the defects there are now, or only for those of these kinds."""
        facts = collect(self.cloud, lambda *_: None)
        confirmed = confirmed_by(facts, lambda one: not defects or one.defect in defects)
        holdings = self.cloud.placement.holdings(consumers_of(confirmed.findings))
        return make_plan(confirmed, holdings)

    def apply(self, plan: Plan) -> dict[str, Outcome]:
        """Apply it with a journal beside the databases; the outcome of each consumer's step."""
        with self.journal(plan) as journal:
            return {step.consumers[0]: outcome for step, outcome in apply(self.cloud, journal)}

    def journal(self, plan: Plan) -> AbstractContextManager[Journal]:
        """The journal of this plan's run, beside the databases."""
        return applying(plan, self.folder / "journal", Origin("operator", "controller"))

    def write(self, step: Step) -> None:
        """What a step writes, without any guard and without a journal."""
        assert all(changes.write(change, self.cloud).accepted for change in step.changes)


def build(folder: Path, failed: int = 0) -> Template:
    with lab.small_cloud(folder, seed=SEED, hosts=HOSTS, instances=INSTANCES) as small:
        planted = small.plant(lab.Drift(1, 1, 1, 1, failed=failed))
        return Template(folder, small.placement_url, {one.kind.value: one for one in planted})


@contextmanager
def running_copy(
    template: Template, folder: Path, placement: str = "trueup", with_nova: bool = False
) -> Iterator[Small]:
    """A copy that answers; `placement` says whose service. `with_nova`: Nova's services too."""
    shutil.copytree(template.folder, folder)
    move_mappings(template.folder, folder)
    api_url = sqlite_url(folder / "nova_api.sqlite")
    with _served(sqlite_url(folder / "placement.sqlite"), placement) as service, ExitStack() as up:
        services = NovaServices(api_url, cell_urls(api_url), service)
        url = up.enter_context(beside_placement(services)) if with_nova else service
        nova_conf = folder / "nova.conf"
        text = nova_conf.read_text().replace(str(template.folder), str(folder))
        nova_conf.write_text(text.replace(template.placement_url, url))
        cloud = from_nova_conf(nova_conf)
        yield Small(folder, nova_conf, url, template.planted, cloud, services)
        cloud.close()


def move_mappings(old: Path, new: Path) -> None:
    with closing(sqlite3.connect(new / "nova_api.sqlite")) as connection:
        connection.execute(
            "UPDATE cell_mappings SET database_connection = replace(database_connection, ?, ?)",
            (str(old), str(new)),
        )
        connection.commit()


@contextmanager
def _served(database_url: str, placement: str) -> Iterator[str]:
    if placement == "trueup":
        with serve(lab.trueup_placement(database_url)) as url:
            yield url
    else:
        with placement_server(placement, database_url) as server:
            yield server.url
