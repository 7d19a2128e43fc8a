# SPDX-License-Identifier: Apache-2.0
"""Checks before a host is rekeyed, above all which side has the wrong uuid. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from trueup.reconcile.facts import OWNER_TRAIT, ComputeNode, Facts, Provider, is_uuid
from trueup.reconcile.rules.bare_metal import IRONIC
from trueup.reconcile.runbooks.host_checks import (
    evidence,
    one_machine,
    stopped,
    waiting,
    way,
    whole,
)
from trueup.reconcile.runbooks.host_reading import HostReading
from trueup.reconcile.runbooks.moving import holders
from trueup.reconcile.runbooks.preflight import Check, Outlook
from trueup.reconcile.wording import counted

FINE, PLANNED, BLOCKS = Outlook.FINE, Outlook.PLANNED, Outlook.BLOCKS
# The status of a resize that is to be confirmed: its claims are moved as they are.
_TO_CONFIRM = "finished"


@dataclass(frozen=True, slots=True)
class Clash:
    """A compute node, and the provider with its name but another uuid."""

    node: ComputeNode
    provider: Provider


def checks(
    host: str,
    found: Sequence[Clash],
    facts: Facts,
    reading: HostReading,
    compute_id: str | None,
) -> tuple[Check, ...]:
    """All checks, in the order in which an operator deals with them."""
    providers = [clash.provider.uuid for clash in found]
    return (
        *evidence(facts),
        *one_machine(host, facts),
        *_same(host, found, facts),
        *whole((clash.provider for clash in found), facts),
        *(_identity(clash, facts, compute_id) for clash in found),
        *(stopped(host, facts) if found else ()),
        *in_motion(holders(providers, facts), facts, reading),
        *(check for clash in found for check in _contents(clash, facts, reading)),
    )


def in_motion(consumers: Iterable[str], facts: Facts, reading: HostReading) -> Iterator[Check]:
    """Moves and tasks of Nova: meanwhile it keeps allocations in memory, with the old provider."""
    for consumer in consumers:
        instance = facts.alive.get(consumer)
        if instance is not None and instance.task_state:
            found = f"{instance.name} is {instance.task_state}"
            yield Check("instance", consumer, found, BLOCKS, "wait until it is done")
    for move in reading.moves:
        if move.under_way and move.status != _TO_CONFIRM:
            yield Check("migration", move.uuid, way(move), BLOCKS, waiting(move))


def _same(host: str, found: Sequence[Clash], facts: Facts) -> Iterator[Check]:
    """The compute nodes of the host that have no clash."""
    clashing = {clash.node.uuid for clash in found}
    for node in facts.compute_nodes:
        if node.host != host or node.uuid in clashing:
            continue
        if node.uuid in facts.providers:
            same = f"its compute node and its provider have one uuid, {node.uuid}"
            yield Check("identity", node.node, same, FINE, "nothing is to be done")
        else:
            none = f"no provider has its uuid {node.uuid}, or its name"
            then = "start nova-compute, which makes its provider"
            yield Check("identity", node.node, none, FINE, then)


def _identity(clash: Clash, facts: Facts, compute_id: str | None) -> Check:
    """Which of the two uuids is right, and what follows."""
    node, old = clash.node, clash.provider
    if not node.uuid:
        # SAFETY: its provider would be renamed, and no new one could be made.
        none = f"its compute node has no uuid, its provider has {old.uuid}"
        return Check(
            "identity", node.node, none, BLOCKS, "start nova-compute, which gives it a uuid"
        )
    found = f"compute node {node.uuid}, provider {old.uuid}"
    if owners := facts.nodes_by_uuid.get(old.uuid):
        return Check(
            "identity", node.node, found, BLOCKS,
            f"the provider is that of host {owners[0].host} in {facts.cells[owners[0].cell]}: "
            "names of hosts must be unique; install one of the two under another name",
        )  # fmt: skip
    if old.parent is not None:
        return Check("identity", node.node, found, BLOCKS, "it is not a root provider: rename it")
    proof = _proof(clash, facts)
    right = compute_id or (node.uuid if proof else None)
    if right == node.uuid:
        why = "" if compute_id else f": {proof}"
        then = f"Placement is the wrong side{why}; the provider gets the uuid of the compute node"
        return Check("identity", node.node, found, PLANNED, then)
    return Check("identity", node.node, found, BLOCKS, _other_side(clash, right, facts))


def _proof(clash: Clash, facts: Facts) -> str:
    """The proof that the compute node's uuid is right; "" without one."""
    node = clash.node
    former = facts.deleted_nodes_by_uuid.get(clash.provider.uuid, ())
    if any(row.host == node.host for row in former):
        return "the compute node with the provider's uuid is deleted"
    if node.hypervisor == IRONIC and node.uuid == node.node:
        return "the compute node has the uuid that Ironic gives this bare metal node"
    return ""


def _other_side(clash: Clash, right: str | None, facts: Facts) -> str:
    """What the operator does if Nova's database is wrong, or the wrong side is not known."""
    node, old = clash.node, clash.provider
    if right is None:
        return (
            f"read the file compute_id in the state_path of nova-compute on {node.host} "
            "(/var/lib/nova/compute_id), and run this again with --compute-id and that uuid"
        )
    if right == old.uuid:
        return (
            f"Nova's database is the wrong side, and Placement is right. In the database of "
            f"{facts.cells[node.cell]}: UPDATE compute_nodes SET uuid = '{old.uuid}' WHERE id = "
            f"{node.number} AND uuid = '{node.uuid}'; then start nova-compute"
        )
    return (
        f"the file compute_id says {right}, which is neither of the two uuids: write the right one "
        "into it first; nova-compute does not start with another uuid"
    )


def _contents(clash: Clash, facts: Facts, reading: HostReading) -> Iterator[Check]:
    old = clash.provider
    if old.uuid not in reading.contents:
        then = "run this again"
        yield Check("provider", old.name, "it was deleted while it was read", BLOCKS, then)
        return
    contents = reading.contents[old.uuid]
    traits = counted(len(contents.traits), "trait")
    aggregates = counted(len(contents.aggregates), "aggregate")
    classes = ", ".join(sorted(contents.inventories)) or "nothing"
    found = f"{traits}, {aggregates}, inventories of {classes}"
    yield Check("provider", old.name, found, PLANNED, "made again with the other uuid")
    for aggregate in contents.aggregates:
        if not is_uuid(aggregate):
            found = "the provider is in it, and it is no UUID: Placement refuses lists with it"
            then = "correct that row of `placement_aggregates` in Placement's database"
            yield Check("aggregate", aggregate, found, BLOCKS, then)
    consumers = holders([old.uuid], facts)
    instances = sum(1 for consumer in consumers if consumer in facts.alive)
    found = f"{counted(len(consumers), 'consumer')} ({counted(instances, 'instance')})"
    yield Check("consumers", old.name, found, PLANNED, "moved to the new one in one request")
    for row in facts.trees.get(old.uuid, ()):
        if row is old:
            continue
        whose = "Nova's" if OWNER_TRAIT in (row.traits or ()) else "not known to be Nova's"
        then = "moved below the new provider, with all that is held of it"
        if row.parent != old.uuid:
            then = "it stays below its parent"
        yield Check("child provider", row.name, f"it is {whose}", PLANNED, then)
