# SPDX-License-Identifier: Apache-2.0
"""Checks before two providers become one, above all that they are one host. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trueup.reconcile.facts import ComputeNode, Facts, Instance, Port, Provider
from trueup.reconcile.rules.bare_metal import IRONIC
from trueup.reconcile.rules.nodes import Former, without_node
from trueup.reconcile.runbooks.host_checks import evidence, whole
from trueup.reconcile.runbooks.host_reading import HostReading
from trueup.reconcile.runbooks.moving import holders
from trueup.reconcile.runbooks.preflight import Check, Outlook
from trueup.reconcile.runbooks.rekey_checks import in_motion
from trueup.reconcile.wording import counted

FINE, PLANNED, BLOCKS = Outlook.FINE, Outlook.PLANNED, Outlook.BLOCKS


@dataclass(frozen=True, slots=True)
class Pair:
    """The provider that gives and the one that takes, whose compute node is `node`.

    `twins` are the children that both have: giving uuid → taking uuid.
    """

    old: Provider
    new: Provider
    node: ComputeNode | None
    twins: Mapping[str, str]

    @property
    def moved(self) -> dict[str, str]:
        """The uuid of the taking provider, by the uuid of the giving one."""
        return {self.old.uuid: self.new.uuid, **self.twins}


def checks(pair: Pair | None, facts: Facts, reading: HostReading) -> tuple[Check, ...]:
    """All checks, in the order in which an operator deals with them."""
    if pair is None:
        found = "the two names are not those of two providers"
        return (Check("providers", "", found, BLOCKS, "name each by its uuid"),)
    consumers = holders(pair.moved, facts)
    return (
        *evidence(facts),
        *whole((pair.old, pair.new), facts),
        *_identity(pair, facts),
        *in_motion(consumers, facts, reading),
        *(check for consumer in consumers for check in _consumer(consumer, pair, facts)),
        *_room(pair, consumers, facts),
        *_children(pair, facts),
        *_ports(pair, facts),
        *_summary(pair, consumers, facts),
        *_left_in_nova(pair, facts),
    )


def ports_of(pair: Pair, facts: Facts) -> tuple[Port, ...]:
    """The ports whose binding profile names a provider that gives."""
    return tuple(
        port for port in facts.ports if set((port.allocation or {}).values()) & pair.moved.keys()
    )


def _identity(pair: Pair, facts: Facts) -> Iterator[Check]:
    for row in (pair.old, pair.new):
        if row.parent is not None:
            yield Check("identity", row.name, "it is not a root provider", BLOCKS, "name its root")
    if owners := facts.nodes_by_uuid.get(pair.old.uuid):
        yield Check(
            "identity", pair.old.name, f"it is that of compute node {owners[0].node}", BLOCKS,
            "that compute node exists: its name is not the old name of another host",
        )  # fmt: skip
        return
    if pair.node is None:
        yield Check(
            "identity", pair.new.name, "no compute node has its uuid", BLOCKS,
            "name the provider to keep as the second one; if its compute node has another uuid, "
            "run `trueup rekey` first",
        )  # fmt: skip
        return
    former = without_node(pair.old, facts)
    nodes = (pair.node, former.node if isinstance(former, Former) else pair.node)
    if any(row.hypervisor == IRONIC for row in nodes):
        # SAFETY: allocations never move from one machine to another.
        yield Check(
            "identity", pair.old.name, f"{pair.new.name} or it is a bare metal node (Ironic)",
            BLOCKS, "two bare metal nodes are two machines: run `trueup plan`, which deletes the "
            "provider of a node that is gone when no consumer holds its resources",
        )  # fmt: skip
        return
    same = isinstance(former, Former) and former.node.host == pair.node.host
    if same:
        found = f"its compute node is deleted, and {pair.node.host} has {pair.node.node} now"
        yield Check("identity", pair.old.name, found, PLANNED, f"merged into {pair.new.name}")
        return
    found = f"no deleted compute node belonged to {pair.node.host}"
    if holders(pair.moved, facts):
        then = "the instances that hold its resources decide"
        yield Check("identity", pair.old.name, found, FINE, then)
    else:
        delete = f"`openstack resource provider delete {pair.old.uuid}`"
        then = f"no consumer holds its resources: run {delete}"
        yield Check("identity", pair.old.name, found, BLOCKS, then)


def _left_in_nova(pair: Pair, facts: Facts) -> Iterator[Check]:
    """The instances on the old node in Nova: a merge writes only to Placement."""
    if pair.node is None or pair.node.node == pair.old.name:
        return
    rows = [row for row in facts.alive.values() if _is_on_old_node(row, pair)]
    if rows:
        cell = facts.cells.get(pair.node.cell, pair.node.cell)
        yield Check(
            "Nova", pair.old.name,
            f"{counted(len(rows), 'instance')} of {pair.node.host} say that they are on this node",
            FINE,
            f"that stays: afterwards, in the database of {cell}: UPDATE instances SET node = "
            f"'{pair.node.node}' WHERE host = '{pair.node.host}' AND node = '{pair.old.name}' AND "
            f"deleted = 0; since 2023.2 also compute_id = {pair.node.number}",
        )  # fmt: skip


def _is_on_old_node(row: Instance, pair: Pair) -> bool:
    node = pair.node
    return node is not None and (row.cell, row.host, row.node) == (
        node.cell,
        node.host,
        pair.old.name,
    )


def _consumer(consumer: str, pair: Pair, facts: Facts) -> Iterator[Check]:
    """A consumer that Nova has elsewhere, or that holds different amounts of the two providers."""
    host = pair.node.host if pair.node else ""
    moves = {row.uuid: row for row in facts.migrations}
    instance, move = facts.alive.get(consumer), moves.get(consumer)
    if pair.old.uuid in facts.nodes_by_uuid:
        # The identity blocks, and what is held of a compute node that exists may be right.
        return
    if instance is not None and instance.host != host:
        found = f"{instance.name} is on {instance.host or 'no host'}"
        yield Check("consumer", consumer, found, BLOCKS, "run `trueup plan`, which releases it")
    elif instance is None and (move is None or host not in (move.source_host, move.target_host)):
        found = "no instance or migration of that host has its uuid"
        then = f"see `trueup explain consumer {consumer}`, and release it first"
        yield Check("consumer", consumer, found, BLOCKS, then)
    held = facts.consumers[consumer]
    for old, new in pair.moved.items():
        gives, takes = held.get(old, {}), held.get(new, {})
        if any(takes.get(name, amount) != amount for name, amount in gives.items()):
            found = f"it holds other amounts of {facts.provider_names[new]}"
            then = "run `trueup plan`, and repair what it should hold first"
            yield Check("consumer", consumer, found, BLOCKS, then)


def _room(pair: Pair, consumers: tuple[str, ...], facts: Facts) -> Iterator[Check]:
    """Whether the moved allocations have room; those on both providers already have."""
    for old, new in pair.moved.items():
        more: Counter[str] = Counter()
        for consumer in consumers:
            held = facts.consumers[consumer]
            there = held.get(new, {})
            more.update({k: v for k, v in held.get(old, {}).items() if k not in there})
        row = facts.providers[new]
        for name, amount in sorted(more.items()):
            stock = row.inventories.get(name)
            used = facts.used.get(new, {}).get(name, 0)
            free = max(0, stock.capacity - used) if stock else 0
            if amount > free:
                found = f"{amount} of {name} are to be moved, and {free} are free"
                then = "start nova-compute, which reports what it has; or move instances away"
                yield Check("room", row.name, found, BLOCKS, then)


def _children(pair: Pair, facts: Facts) -> Iterator[Check]:
    for row in facts.trees.get(pair.old.uuid, ()):
        if row is pair.old:
            continue
        if row.uuid in pair.twins:
            twin = facts.provider_names[pair.twins[row.uuid]]
            found = f"{pair.new.name} has {twin}"
            yield Check("child provider", row.name, found, PLANNED, "merged into it")
        elif row.parent in pair.moved:
            found = f"{pair.new.name} has none of that kind"
            yield Check("child provider", row.name, found, PLANNED, "moved below it")


def _ports(pair: Pair, facts: Facts) -> Iterator[Check]:
    bandwidth = holders(pair.twins, facts)
    if bandwidth and not facts.ports_read:
        found = "Neutron is not asked, and instances hold resources of children"
        then = "give Neutron's credentials: binding profiles of ports name these providers"
        yield Check("ports", "Neutron", found, BLOCKS, then)
    for port in ports_of(pair, facts):
        if port.revision is None:
            found = "Neutron gives no revision number of it, so no write can be guarded"
            yield Check("port", port.id, found, BLOCKS, "upgrade Neutron, or its configuration")
        else:
            found = "its binding profile names the old provider"
            yield Check("port", port.id, found, PLANNED, "it names the new one, in the same step")


def _summary(pair: Pair, consumers: tuple[str, ...], facts: Facts) -> Iterator[Check]:
    instances = sum(1 for consumer in consumers if consumer in facts.alive)
    found = f"{counted(len(consumers), 'consumer')} ({counted(instances, 'instance')})"
    then = f"moved to {pair.new.name} in one request"
    yield Check("consumers", pair.old.name, found, PLANNED, then)
