# SPDX-License-Identifier: Apache-2.0
"""Merge: two providers of one host, under its old and its new name, become one. Pure.

Launchpad 1832814: after a rename Placement counts the host twice, and instances hold resources of
the old provider. They move to the new provider in one request, and the old one is deleted.
"""

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from trueup.reconcile.facts import Facts, Provider
from trueup.reconcile.plan import Plan
from trueup.reconcile.remedies.guarded_steps import deletions, fresh
from trueup.reconcile.rules.nodes import Former, without_node
from trueup.reconcile.runbooks.host_reading import HostReading
from trueup.reconcile.runbooks.merge_checks import Pair, checks, ports_of
from trueup.reconcile.runbooks.moving import Reasons, TreeMove, moved_at_once, re_parented
from trueup.reconcile.runbooks.preflight import Prepared
from trueup.reconcile.steps import (
    Change,
    Guard,
    NodeGone,
    NodeIs,
    PortBinding,
    Profile,
    Step,
    step_of,
)

NAME = "merge"


def pair_of(old: str, new: str, facts: Facts) -> Pair | None:
    """The two providers with these names or uuids; None if there are not two."""
    rows = [
        [row for row in facts.providers.values() if name in (row.name, row.uuid)]
        for name in (old, new)
    ]
    if [len(found) for found in rows] != [1, 1] or rows[0] == rows[1]:
        return None
    [[giving], [taking]] = rows
    nodes = facts.nodes_by_uuid.get(taking.uuid, ())
    return Pair(
        giving, taking, nodes[0] if len(nodes) == 1 else None, _twins(giving, taking, facts)
    )


def _twins(old: Provider, new: Provider, facts: Facts) -> dict[str, str]:
    """The children of the old provider that the new one has under its own name, by uuid."""
    mine = {row.name: row.uuid for row in facts.trees.get(new.uuid, ()) if row is not new}
    found = {}
    for row in facts.trees.get(old.uuid, ()):
        name = f"{new.name}{row.name.removeprefix(old.name)}"
        if row is not old and row.name.startswith(old.name) and name in mine:
            found[row.uuid] = mine[name]
    return found


def prepared(
    purpose: str, plan: Plan, facts: Facts, reading: HostReading, pair: Pair | None
) -> Prepared:
    """The preflight, and the plan that merges the two."""
    ready = Prepared(purpose, checks(pair, facts, reading), plan)
    steps = () if pair is None or ready.blocked else tuple(_steps(pair, facts, reading, purpose))
    every = (*plan.findings, *(declined.finding for declined in plan.declined))
    reasons = {reason for step in steps for reason in step.because}
    return replace(
        ready,
        plan=replace(
            plan,
            steps=steps,
            findings=tuple(finding for finding in every if finding.id in reasons),
            declined=(),
            effects=(),
            names={**plan.names, **facts.provider_names},
        ),
    )


def _steps(pair: Pair, facts: Facts, reading: HostReading, purpose: str) -> Iterator[Step]:
    assert pair.node is not None
    node, old, new = pair.node, pair.old, pair.new
    guards = (NodeIs(node.cell, node.host, node.uuid), *_gone(old, facts), *fresh(node.cell, facts))
    reasons = Reasons(guards, (f"duplicate-provider:{old.uuid}", purpose))
    moved = {old.uuid: new.uuid, **pair.twins}
    alone = [row for row in facts.trees[old.uuid] if row.uuid not in moved and row.parent in moved]
    placed = [re_parented(row, moved[row.parent or ""], reasons, ()) for row in alone]
    yield from placed
    stocks = {uuid: reading.contents[uuid].inventories for uuid in (*moved, *moved.values())}
    move = TreeMove(
        before=stocks,
        after={uuid: {} if uuid in moved else rows for uuid, rows in stocks.items()},
        moved=moved,
    )
    tree = moved_at_once(move, facts, reading, reasons, [step.id for step in placed])
    bindings = tuple(_bindings(pair, facts))
    at_once = step_of((*tree.changes, *bindings), tree.guards, tree.because, tree.needs)
    yield at_once
    left = [row for row in facts.trees[old.uuid] if row.uuid in moved]
    contents = {
        row.uuid: msgspec.structs.replace(reading.contents[row.uuid], inventories={})
        for row in left
    }
    for step in deletions(old, left, contents, reasons.because, reasons.guards):
        yield step_of(step.changes, step.guards, step.because, (*step.needs, at_once.id))


def _gone(old: Provider, facts: Facts) -> Iterator[Guard]:
    """Guard: the compute node of the old provider is still deleted, if there was one."""
    former = without_node(old, facts)
    if isinstance(former, Former):
        # Neither name nor host: the host is alive, and its new compute node may have the old one's
        # name.
        yield NodeGone(former.node.uuid, "", former.node.cell, "")


def _bindings(pair: Pair, facts: Facts) -> Iterator[Change]:
    """The changes of ports whose profile names a provider that is merged into another."""
    for port in ports_of(pair, facts):
        allocation = port.allocation or {}
        right = {group: pair.moved.get(uuid, uuid) for group, uuid in allocation.items()}
        yield Change(
            PortBinding(port.id),
            Profile(port.profile),
            Profile(port.profile_with(right)),
            {port.id: port.revision},
        )
