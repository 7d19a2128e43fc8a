# SPDX-License-Identifier: Apache-2.0
"""A site of real processes: a small broken cloud, Placement, Nova and Neutron, and libvirt."""

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.cli.running import Ran, trueup
from tests.kills.hypervisor import DOMAIN, hypervisor
from tests.kills.proxy import Proxy, proxy_to
from tests.kills.services import Services
from tests.reconcile.observing import confirmed_by
from tests.reconcile.small import Template, move_mappings
from tests.servers.placement import placement_server
from trueup.lab.nova.databases import sqlite_url
from trueup.lab.serving import serve
from trueup.reconcile.clock import now
from trueup.reconcile.collect import collect
from trueup.reconcile.plan import Plan, consumers_of, make_plan, plan_file
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.connect import from_names
from trueup.reconcile.sources.libvirt import Hypervisors
from trueup.reconcile.steps import Step

NAME = "kills"
HYPERVISOR = "compute-01"
# Placement's policy wants the service role for a reshape.
ROLES = {"X-Roles": "admin,service"}


@dataclass
class Site:
    """Where commands run. Each run of a test has a folder of its own for its journals."""

    folder: Path
    placement: Proxy
    others: Proxy
    services: Services
    cloud: Cloud
    planted: dict[str, str]
    libvirt_uri: str
    _numbers: Iterator[int] = field(default_factory=count)

    @property
    def options(self) -> list[str]:
        """What names this site on a command line."""
        named = ["--nova-database", sqlite_url(self.folder / "nova_api.sqlite"), "--os-cloud", NAME]
        libvirt = ["--libvirt-uri", f"{HYPERVISOR}={self.libvirt_uri}"] if self.libvirt_uri else []
        return named + libvirt

    @property
    def environment(self) -> dict[str, str]:
        return {"OS_CLIENT_CONFIG_FILE": str(self.folder / "clouds.yaml")}

    @property
    def accepted(self) -> int:
        """How many writes the HTTP services have accepted so far."""
        return self.placement.accepted + self.others.accepted

    def settle(self) -> None:
        """Return when the services have answered all that was sent to them."""
        self.placement.settle()
        self.others.settle()

    def spoil(self) -> None:
        """Let nothing go wrong any more."""
        self.placement.spoil()
        self.others.spoil()

    def sql(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """By hand, in Placement's database."""
        with closing(sqlite3.connect(self.folder / "placement.sqlite", timeout=60)) as connection:
            rows = connection.execute(statement, values).fetchall()
            connection.commit()
            return rows

    @property
    def hidden(self) -> dict[str, int]:
        """The generations of consumers that hold nothing, which Placement does not tell."""
        none = "SELECT 1 FROM allocations WHERE consumer_id = consumers.uuid"
        return dict(self.sql(f"SELECT uuid, generation FROM consumers WHERE NOT EXISTS ({none})"))

    def fresh_state(self) -> Path:
        """A folder for journals in which nothing is yet."""
        return self.folder / f"state{next(self._numbers)}"

    def run(self, verb: str, *words: object, state: Path | None = None) -> Ran:
        """One command, in this process."""
        kept = ["--state-dir", state] if state else []
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.environment.items():
                patch.setenv(name, value)
            return trueup(*verb.split(), *self.options, *kept, *words)

    def ledger(self) -> bytes:
        """`trueup ledger export`, as bytes."""
        path = self.folder / "ledger.json"
        ran = trueup_ledger(self, path)
        assert ran.code == 0, ran.err
        return path.read_bytes()

    def state(self) -> dict[str, Any]:
        """All that the targets outside of Placement hold."""
        found = self.services.state
        if self.cloud.hypervisors:
            found["domain"] = self.cloud.hypervisors.definition(HYPERVISOR, DOMAIN)
        return found

    def plan(self, *defects: str) -> Plan:
        """What Trueup plans for these defects of the cloud as it is now.

        Without the hypervisors: all but one of them do not answer, and nothing would be released.
        """
        facts = collect(replace(self.cloud, hypervisors=None), lambda *_: None)
        assert facts.coverage.complete, facts.coverage
        confirmed = confirmed_by(facts, lambda one: one.defect in defects)
        return make_plan(confirmed, self.cloud.placement.holdings(consumers_of(confirmed.findings)))

    def saved(self, *steps: Step) -> Path:
        """A file of a plan of these steps."""
        path = self.folder / f"plan{next(self._numbers)}.json"
        cells = tuple(sorted(cell.uuid for cell in self.cloud.nova.cells()))
        plan_file.save(Plan(now(), now(), cells, 100, (), steps), path)
        return path


def trueup_ledger(site: Site, path: Path) -> Ran:
    """Export the ledger of a site to a file."""
    return replace(site, libvirt_uri="").run("ledger export", path)


@contextlib.contextmanager
def running_site(template: Template, folder: Path, placement: str) -> Iterator[Site]:
    """A copy of the template's cloud with all its services."""
    shutil.copytree(template.folder, folder)
    move_mappings(template.folder, folder)
    with contextlib.ExitStack() as stack:
        service = stack.enter_context(
            placement_server(placement, sqlite_url(folder / "placement.sqlite"))
        )
        ledger = stack.enter_context(proxy_to(urlsplit(service.url).port or 0, ROLES))
        services = Services()
        port = urlsplit(stack.enter_context(serve(services))).port or 0
        others = stack.enter_context(proxy_to(port))
        uri = stack.enter_context(hypervisor())
        write_clouds_yaml(folder / "clouds.yaml", ledger.url, others.url)
        planted = {name: one.consumer_uuid for name, one in template.planted.items()}
        cloud = stack.enter_context(_connected(folder, uri))
        yield Site(folder, ledger, others, services, cloud, planted, uri)


@contextlib.contextmanager
def _connected(folder: Path, uri: str) -> Iterator[Cloud]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OS_CLIENT_CONFIG_FILE", str(folder / "clouds.yaml"))
        cloud = from_names(sqlite_url(folder / "nova_api.sqlite"), NAME)
    hypervisors = Hypervisors(uris={HYPERVISOR: uri}) if uri else None
    try:
        yield replace(cloud, hypervisors=hypervisors)
    finally:
        cloud.close()


def write_clouds_yaml(path: Path, placement: str, others: str) -> None:
    """A clouds.yaml that names where each service is."""
    named = {
        "auth_type": "admin_token",
        "auth": {"endpoint": placement, "token": "admin"},
        "placement_endpoint_override": placement,
        "compute_endpoint_override": others,
        "network_endpoint_override": others,
    }
    # JSON is YAML.
    path.write_text(json.dumps({"clouds": {NAME: named}}))
