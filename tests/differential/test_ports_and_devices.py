# SPDX-License-Identifier: Apache-2.0
"""What Nova allocates for any ports and PCI devices is what Trueup expects, and what it restores.

Nova's own code asks and writes (`hosts_of_nova`), Placement chooses. What is lost afterwards, a
plan gives back exactly as it was, or leaves alone.
"""

import os
from copy import deepcopy
from dataclasses import dataclass
from random import Random

import pytest
from nova import objects

from tests.differential.hosts_of_nova import SIZES, Host, Server, host_of, put, schedule
from tests.differential.hosts_of_nova import server_of as drawn
from tests.reconcile.observing import confirmed_by, held_by
from tests.scenarios.drafting import Draft
from tests.scenarios.names import uuid_of
from trueup.lab.cloud import trueup_placement
from trueup.lab.nova.databases import sqlite_url
from trueup.lab.placement_client import PlacementClient
from trueup.reconcile.expected import requested_groups_on
from trueup.reconcile.facts import (
    NEUTRON,
    Facts,
    Flavor,
    Inventory,
    PciDevice,
    PciRequest,
    Provider,
    SourceStatus,
)
from trueup.reconcile.plan import make_plan
from trueup.reconcile.sources.neutron import parse_port
from trueup.reconcile.steps import PortBinding

CASES = int(os.environ.get("TRUEUP_EXAMPLES", "10")) * 10
WEB = uuid_of("web")


@dataclass(frozen=True)
class Case:
    """A server that found a host. All seeds are tried, from 0 on."""

    seed: int
    host: Host
    server: Server

    def facts(self, server: Server | None = None) -> Facts:
        return facts_of(self.host, server or self.server, Random(self.seed))


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    objects.register_all()
    folder = tmp_path_factory.mktemp("hosts-of-nova")
    client = PlacementClient(trueup_placement(sqlite_url(folder / "placement.sqlite")))
    found = []
    for seed in range(CASES):
        rng = Random(seed)
        host = host_of(rng, f"h{seed}")
        put(client, host)
        server = drawn(rng, host)
        schedule(rng, client, server, host)
        if server.allocations is not None:
            found.append(Case(seed, host, server))
    asking = [one for one in found if one.server.ports or one.server.requests]
    assert len(asking) > CASES // 10, "many servers with ports or devices found a host"
    return found


def facts_of(host: Host, server: Server, rng: Random) -> Facts:
    """What Trueup reads of it. Some rows of devices do not name their provider, as of old ones."""
    draft = Draft()
    draft.cell("cell1")
    draft.host(host.name, "cell1", up=True, node_uuid=host.rows[0].uuid)
    for row in host.rows:
        stock = {name: Inventory(total, 0, 1.0) for name, total in row.totals.items()}
        draft.providers[row.uuid] = Provider(
            row.uuid, row.name, 1, host.rows[0].uuid, stock, parent=row.parent, traits=row.traits
        )
    plain = {name: amount for name, amount in SIZES.items() if name != "swap"}
    requests = tuple(
        PciRequest(one.request_id, one.count, one.alias_name, specs=tuple(one.spec))
        for one in server.requests
    )
    draft.server(
        "web",
        "cell1",
        host.name,
        flavor=Flavor("a-flavor", **plain, swap_mb=0, extra_specs={}),
        pci_requests=requests,
    )
    node = draft.nodes[0]
    for device, _ in host.devices:
        request = server.given.get(device.address)
        draft.pci_devices.append(
            PciDevice(
                node.cell, node.number, device.address, device.vendor_id, device.product_id,
                device.dev_type, "allocated" if request else "available",
                WEB if request else None, request, parent_address=device.parent_addr,
                provider=device.extra_info["rp_uuid"] if rng.random() < 0.7 else None,
            )
        )  # fmt: skip
    draft.attached.ports = [parse_port({**port, "device_id": WEB}) for port in server.ports]
    draft.attached.status = SourceStatus(NEUTRON, True, 1)
    if server.allocations:
        draft.held[WEB] = server.allocations
    return draft.facts()


def findings(facts: Facts) -> list[str]:
    audit = confirmed_by(facts).second.audit
    return [str(row) for row in (*audit.findings, *audit.unchecked)]


def test_what_nova_allocated_is_right(cases):
    for case in cases:
        assert findings(case.facts()) == [], f"seed {case.seed}"


def lost(case: Case, what: str) -> Server:
    """The same server after something was lost: profiles, the claim, or a part of the claim."""
    broken = deepcopy(case.server)
    if "profiles" in what:
        for port in broken.ports:
            port["binding:profile"] = {}
    if what.startswith("claim"):
        broken.allocations = {}
    elif what.startswith("part"):
        gone = Random(case.seed).choice(sorted(broken.allocations))
        del broken.allocations[gone]
    return broken


@pytest.mark.parametrize(
    "what", ["profiles", "claim", "part", "claim and profiles", "part and profiles"]
)
def test_what_is_lost_is_given_back_as_it_was_or_left_alone(cases, what):
    written = 0
    for case in cases:
        facts = case.facts(lost(case, what))
        for step in make_plan(confirmed_by(facts), facts.holdings).steps:
            for consumer, (_, after) in held_by(step).items():
                assert (consumer, after.amounts) == (WEB, case.server.allocations), case.seed
            profiles = {port["id"]: port["binding:profile"] for port in case.server.ports}
            bound = [one for one in step.changes if isinstance(one.target, PortBinding)]
            given = {one.target.port: one.after.content for one in bound}
            assert given == {port: profiles[port] for port in given}, case.seed
            written += 1
    assert written


def test_of_lost_profiles_the_right_provider_is_always_among_the_possible(cases):
    for case in cases:
        facts = case.facts(lost(case, "profiles"))
        right = {port.id: port.allocation for port in case.facts().ports}
        root = case.host.rows[0].uuid
        for one in requested_groups_on(root, facts.alive[WEB], facts, case.server.allocations):
            assert right[one.port.id][one.group.id] in one.providers, case.seed
