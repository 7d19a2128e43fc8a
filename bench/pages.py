# SPDX-License-Identifier: Apache-2.0
"""Measure the page of `trueup report` for a large cloud: how big it is, and how soon it is shown.

    python -m bench.pages --hosts 10000 --instances 200000

It makes the facts in memory, one instance in a hundred with drift, audits them, renders the page,
and opens it in a headless Chromium. The goal is 2 s of processor time to the first frame; by the
clock it is the same on an idle machine.
"""

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bench import cloud
from bench.terminal import say
from tests.servers.browser import chromium
from trueup.reconcile.audit import observation
from trueup.reconcile.facts import (
    ComputeNode,
    ComputeService,
    Coverage,
    Facts,
    Flavor,
    HostMapping,
    Instance,
    InstanceMapping,
    Inventory,
    Provider,
    SourceStatus,
)
from trueup.reconcile.page.html import html_of
from trueup.reconcile.page.page import page_of
from trueup.reconcile.page.placeable import Placeables
from trueup.reconcile.verdicts import AuditOptions

GOAL_SECONDS = 2.0
_DISK = "DISK_GB"
_NOW = datetime(2026, 11, 22, 12)
_TRAITS = frozenset({"COMPUTE_NODE", "OWNER_NOVA"})
_CELLS = ("cell1", "cell2", "cell3", "cell4")
# Of so many instances one holds nothing.
_DRIFTED = 100
# When the second frame begins, the first is on the screen.
_TWO_FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the page, and print its size and its times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--instances", type=int, default=200_000)
    parser.add_argument(
        "--pool", metavar="HOSTS", type=int, help="a shared pool for so many hosts has their disk"
    )
    parser.add_argument("--keep", metavar="FILE", type=Path, help="keep the page in this file")
    options = parser.parse_args(arguments)
    facts = facts_of(cloud.draw("flat", options.hosts), options.instances)
    if options.pool:
        facts = with_pools(facts, options.pool)
    seen = observation(facts, AuditOptions())
    say(f"{len(seen.audit.findings)} findings, {len(seen.audit.unchecked)} not checked")
    started = time.process_time()
    page = page_of(seen, (), "A generated cloud", "benchmark", Placeables(gap="not measured here"))
    composed = time.process_time()
    content = html_of(page)
    rendered = time.process_time()
    say(f"composed in {composed - started:.1f} s, rendered in {rendered - composed:.1f} s")
    say(f"{len(content) / 2**20:.1f} MiB")
    if options.keep:
        options.keep.write_bytes(content)
    seconds = seconds_to_show(content)
    say(f"on the screen after {seconds:.2f} s of processor time of the page's thread")
    return 0 if seconds <= GOAL_SECONDS else 1


def facts_of(drawn: cloud.Cloud, instances: int) -> Facts:
    """The facts that reading a flat cloud would give, with so many instances, some with drift."""
    classes: dict[int, str] = dict(drawn.rows["resource_classes"])
    projects: dict[int, str] = dict(drawn.rows["projects"])
    owners = {row[1]: projects[row[2]] for row in drawn.rows["consumers"][:instances]}
    inventories: dict[Any, dict[str, Inventory]] = defaultdict(dict)
    for _, host, kind, *numbers, ratio in drawn.rows["inventories"]:
        total, reserved, *units = numbers
        inventories[host][classes[kind]] = Inventory(total, reserved, ratio, *units)
    providers = {
        key: Provider(uuid, name, generation, uuid, inventories[key], traits=_TRAITS)
        for key, uuid, name, generation, _, _ in drawn.rows["resource_providers"]
    }
    held: dict[str, dict[str, dict[str, int]]] = defaultdict(dict)
    for _, host, consumer, kind, amount in drawn.rows["allocations"]:
        held[consumer].setdefault(providers[host].uuid, {})[classes[kind]] = amount
    nodes = {
        row.uuid: ComputeNode(row.uuid, _CELLS[key % len(_CELLS)], row.name, row.name, key)
        for key, row in providers.items()
    }
    made = [
        _instance(f"server-{number}", uuid, project, nodes, held[uuid])
        for number, (uuid, project) in enumerate(owners.items())
    ]
    drifted = {row.uuid for row in made[::_DRIFTED]}
    return Facts(
        taken_at=_NOW,
        coverage=Coverage((SourceStatus("Placement", True), *map(_answered, _CELLS))),
        cells={uuid: uuid for uuid in _CELLS},
        providers={row.uuid: row for row in providers.values()},
        consumers={uuid: held[uuid] for uuid in owners if uuid not in drifted},
        instances=tuple(made),
        compute_nodes=tuple(nodes.values()),
        services=tuple(ComputeService(row.cell, row.host, False, _NOW) for row in nodes.values()),
        heartbeats=dict.fromkeys(_CELLS, _NOW),
        host_mappings=tuple(HostMapping(row.host, row.cell) for row in nodes.values()),
        instance_mappings=tuple(
            InstanceMapping(row.uuid, row.cell, row.project, False) for row in made
        ),
    )


def with_pools(facts: Facts, hosts: int) -> Facts:
    """The same cloud, in which all DISK_GB of so many hosts each is in a pool that they share."""
    roots = sorted(facts.providers)
    providers = {uuid: _without_disk(row) for uuid, row in facts.providers.items()}
    pools: dict[str, str] = {}
    stock = Inventory(10**7, 0, 1.0, 1, 10**7, 1)
    for start in range(0, len(roots), hosts):
        uuid, members = f"{start:08d}-0000-4000-8000-000000000000", roots[start : start + hosts]
        providers[uuid] = Provider(
            uuid, f"pool-{start}", 1, uuid, {_DISK: stock},
            traits=frozenset({"MISC_SHARES_VIA_AGGREGATE"}),
            sharing=True, shares_with=frozenset(members),
        )  # fmt: skip
        pools |= dict.fromkeys(members, uuid)
    consumers = {
        uuid: {
            provider: amounts
            for root, held in of.items()
            for provider, amounts in (
                (root, {name: amount for name, amount in held.items() if name != _DISK}),
                (pools[root], {_DISK: held[_DISK]}),
            )
        }
        for uuid, of in facts.consumers.items()
    }
    return replace(facts, providers=providers, consumers=consumers)


def _without_disk(provider: Provider) -> Provider:
    rest = {name: row for name, row in provider.inventories.items() if name != _DISK}
    return replace(provider, inventories=rest)


def _answered(cell: str) -> SourceStatus:
    return SourceStatus(cell, True)


def _instance(
    name: str,
    uuid: str,
    project: str,
    nodes: Mapping[str, ComputeNode],
    held: Mapping[str, Mapping[str, int]],
) -> Instance:
    [(host, amounts)] = held.items()
    node = nodes[host]
    return Instance(
        uuid, name, node.cell, project, "a-user", node.host, node.node, "active", None,
        deleted=False, hidden=False, updated_at=_NOW - timedelta(days=1),
        flavor=Flavor("m1", amounts["VCPU"], amounts["MEMORY_MB"], amounts["DISK_GB"], 0, 0, {}),
    )  # fmt: skip


def seconds_to_show(content: bytes) -> float:
    """Seconds of processor time from opening the page to its first frame, in a real Chromium."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        path = Path(folder, "page.html")
        path.write_bytes(content)
        before = browser.processor_seconds()
        browser.open(path.as_uri())
        browser.evaluate(_TWO_FRAMES)
        return browser.processor_seconds() - before


if __name__ == "__main__":
    sys.exit(main())
