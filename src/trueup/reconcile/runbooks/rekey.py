# SPDX-License-Identifier: Apache-2.0
"""Rekey: a compute node has another uuid than the provider with its name. Pure.

Launchpad 1817833. A provider's uuid cannot be changed. So a new provider takes the name and the
children, then in one request the inventories and all allocations; then the old one is deleted.
Each instance keeps its allocations at every moment.
"""

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from trueup.reconcile.facts import Facts
from trueup.reconcile.plan import Plan
from trueup.reconcile.remedies.guarded_steps import deletion, fresh
from trueup.reconcile.rules.nodes import node_subject
from trueup.reconcile.runbooks.host_reading import HostReading
from trueup.reconcile.runbooks.moving import Reasons, TreeMove, moved_at_once, re_parented, renamed
from trueup.reconcile.runbooks.preflight import Prepared
from trueup.reconcile.runbooks.rekey_checks import Clash, checks
from trueup.reconcile.steps import Change, NodeIs, ServiceDown, Step, WholeProvider, step_of

NAME = "rekey"


def clashes(host: str, facts: Facts) -> tuple[Clash, ...]:
    """The compute nodes of a host whose uuid no provider has, with the provider of their name."""
    found = []
    for node in facts.compute_nodes:
        namesakes = facts.providers_by_name.get(node.node, ())
        if node.host == host and node.uuid not in facts.providers and len(namesakes) == 1:
            found.append(Clash(node, namesakes[0]))
    return tuple(found)


def prepared(
    host: str, plan: Plan, facts: Facts, reading: HostReading, compute_id: str | None
) -> Prepared:
    """The preflight and the plan; `compute_id` is the uuid in nova-compute's file of this name."""
    found = clashes(host, facts)
    preflight = checks(host, found, facts, reading, compute_id)
    ready = Prepared(f"{NAME}:{host}", preflight, plan)
    steps = () if ready.blocked else tuple(_every_step(found, facts, reading, ready.purpose))
    answered = {_finding(clash, facts) for clash in found}
    remedied = [row.finding for row in plan.declined if row.finding.id in answered]
    names = {row.uuid: row.name for row in facts.providers.values()}
    names |= {clash.node.uuid: clash.node.node for clash in found}
    return replace(
        ready,
        plan=replace(
            plan,
            steps=steps,
            findings=tuple(remedied) if steps else (),
            declined=(),
            effects=(),
            names={**plan.names, **names},
        ),
    )


def _finding(clash: Clash, facts: Facts) -> str:
    return f"provider-identity-clash:{node_subject(clash.node, facts).uuid}"


def _every_step(
    found: tuple[Clash, ...], facts: Facts, reading: HostReading, purpose: str
) -> Iterator[Step]:
    for clash in found:
        because = (_finding(clash, facts), purpose)
        yield from _steps(clash, facts, reading, because)


def _steps(
    clash: Clash, facts: Facts, reading: HostReading, because: tuple[str, ...]
) -> Iterator[Step]:
    node, old = clash.node, clash.provider
    here = NodeIs(node.cell, node.host, node.uuid)
    down = ServiceDown(node.cell, node.host)
    reasons = Reasons((here, down, *fresh(node.cell, facts)), because)
    contents = reading.contents[old.uuid]
    aside = f"{old.name}-{old.uuid}"
    out_of_the_way = renamed(old, aside, reasons)
    yield out_of_the_way
    empty = msgspec.structs.replace(contents, name=node.node, inventories={})
    made = Change(WholeProvider(node.uuid), None, empty, {node.uuid: None})
    new = step_of((made,), reasons.guards, because, (out_of_the_way.id,))
    yield new
    children = [row for row in facts.trees[old.uuid] if row.parent == old.uuid]
    below = [re_parented(row, node.uuid, reasons, (new.id,)) for row in children]
    yield from below
    move = TreeMove(
        before={old.uuid: contents.inventories, node.uuid: {}},
        after={old.uuid: {}, node.uuid: contents.inventories},
        moved={old.uuid: node.uuid},
    )
    needs = (new.id, *(step.id for step in below))
    moved = moved_at_once(move, facts, reading, reasons, needs)
    yield moved
    left = msgspec.structs.replace(contents, name=aside, inventories={})
    yield step_of((deletion(old.uuid, left),), reasons.guards, because, (moved.id,))
