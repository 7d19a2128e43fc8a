# SPDX-License-Identifier: Apache-2.0
"""Reads some hosts and trees of providers again, without their instances.

Cells first, then the ledger: the reverse of the order for a whole cloud. Something that a service
makes or deletes in between looks wrong in at most one of the two orders.
"""

from dataclasses import replace

from trueup.reconcile.clock import now
from trueup.reconcile.collect.coverage import Cells, Collected, Progress, facts_of
from trueup.reconcile.collect.trees import whole_trees
from trueup.reconcile.facts import ComputeNode, Facts
from trueup.reconcile.sources.cloud import Cloud

# How many requests one tree takes over Placement's API.
_REQUESTS_FOR_TREE = 6


def collect_places(cloud: Cloud, progress: Progress, places: frozenset[str]) -> Facts:
    """Facts about these providers (by uuid), compute nodes (by uuid) and hosts (by name).

    Raises as `collect`. Names that no source knows any more are left out.
    """
    taken_at = now()
    cells = Cells(cloud, cloud.nova.cells())
    cells.ask(cloud.nova.hosts)
    registry = cloud.nova.registry(cells.every, ())
    every = [row for reply in cells.contents for row in reply.compute_nodes]
    nodes = [row for row in every if {row.uuid, row.host} & places and not row.deleted]
    uuids = places | {row.uuid for row in nodes}
    ledger = cloud.placement.lookup_of_trees(
        _REQUESTS_FOR_TREE * len(uuids),
        len(every),
        lambda done, total: progress("providers", done, total),
    )
    trees = whole_trees(ledger, ledger.trees(uuids, {row.node for row in nodes}))
    consumers = ledger.held_of(trees)
    providers = ledger.completed(trees)
    collected = Collected(
        taken_at=taken_at,
        cells=cells,
        registry=registry,
        providers=providers,
        consumers=consumers,
        # No instance is judged here, so no owner is needed.
        owners={},
        read_via=ledger.read_via,
        ledger_faults=ledger.faults(providers),
        ledger_writes=ledger.written(providers),
    )
    return _of_places(facts_of(cloud, collected), nodes, places | trees.keys())


def _of_places(facts: Facts, nodes: list[ComputeNode], trees: frozenset[str]) -> Facts:
    return replace(
        facts,
        hosts_in_scope=frozenset(row.host for row in nodes),
        providers_in_scope=trees | {row.uuid for row in nodes},
    )
