# SPDX-License-Identifier: Apache-2.0
"""Rebuild: a new ledger from Nova, Neutron and the old ledger. Pure.

The old ledger is kept wherever Nova does not contradict it: an instance gets other amounts only
where an audit has a finding about it. An instance that is not in the old ledger gets the amounts of
Nova's rules. Nothing is left out because it was not found.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from trueup.reconcile.audit import Audit, audit, judged, observation
from trueup.reconcile.defects import DEFECTS, orphaned_allocation, shelved_allocation
from trueup.reconcile.facts import (
    DISABLED_TRAIT,
    NODE_TRAIT,
    OWNER_TRAIT,
    Allocations,
    Amounts,
    ComputeNode,
    Facts,
    Hardware,
    Holding,
    HostDefaults,
    LedgerFault,
    Owner,
    Provider,
    as_compared,
)
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.bare_metal import IRONIC
from trueup.reconcile.rules.freshness import with_freshness
from trueup.reconcile.rules.host_inventory import inventories_of
from trueup.reconcile.rules.nodes import Former, service_of, without_node
from trueup.reconcile.runbooks.rebuild_consumers import LedgerLine, NewConsumers
from trueup.reconcile.runbooks.rebuild_gaps import gaps, left, with_gaps
from trueup.reconcile.sources.placement.sharing import members_of_sharing, with_sharing
from trueup.reconcile.verdicts import AuditOptions, plain_words

# The reason of a line about a host whose inventory rests on an assumed nova.conf.
ASSUMED = because("computed-from-node")
_TITLES = {defect.NAME: defect.TITLE for defect in DEFECTS}


@dataclass(eq=False)
class EvidenceIncomplete(Exception):
    """A source is silent or behind: its data would be missing in the new ledger."""

    gap: Reason


@dataclass(eq=False)
class LedgerFaulty(Exception):
    """The old ledger has rows that Placement does not list: they would be missing in the new one.

    `faults` names each row in words, with its provider or table.
    """

    faults: tuple[str, ...]


@dataclass(eq=False)
class TargetNotEmpty(Exception):
    """The new database holds another ledger than the computed one."""

    providers: int
    consumers: int


@dataclass(eq=False)
class TargetForeign(Exception):
    """The new database has tables that a new Placement database does not have."""

    tables: tuple[str, ...]


@dataclass(eq=False)
class NotAsWritten(Exception):
    """The new database was filled but holds another ledger: another client writes to it."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The new ledger, and its differences from the old one.

    `facts` are the facts of the cloud with the new ledger, and `audit` is the audit of these facts.
    `gaps` are the lines whose subject could not be checked.
    """

    facts: Facts
    allocations: Mapping[str, Allocations]
    lines: tuple[LedgerLine, ...]
    audit: Audit
    gaps: tuple[LedgerLine, ...]


@dataclass(frozen=True, slots=True)
class HostsOfNova:
    """The hardware of compute nodes in Nova, by uuid, and the defaults of nova.conf."""

    hardware: Mapping[str, Hardware]
    defaults: HostDefaults


def rebuilt(
    facts: Facts, hosts: HostsOfNova, strangers: Mapping[str, Holding], options: AuditOptions
) -> Rebuilt:
    """The new ledger of a cloud whose facts are complete.

    `strangers` are the holdings of `strangers_in` the old ledger, with owners and types.
    """
    providers, moved, lines = _providers(facts, hosts)
    left_out = _left_out(providers, facts)
    known = replace(
        facts,
        providers=providers,
        consumers={
            consumer: _amounts_after(held, moved) for consumer, held in facts.consumers.items()
        },
    )
    seen = observation(known, options)
    reasons: dict[str, Reason] = {}
    for finding in seen.audit.findings:
        for uuid in (finding.subject.uuid, *finding.consumers):
            reasons.setdefault(
                uuid, because("finding", defect=finding.defect, title=_TITLES[finding.defect])
            )
    released = {
        uuid
        for finding in seen.audit.findings
        if finding.defect in (orphaned_allocation.NAME, shelved_allocation.NAME)
        for uuid in (finding.subject.uuid, *finding.consumers)
    }
    drafts = NewConsumers(seen.facts, reasons, frozenset(released), strangers)
    allocations = drafts.allocations()
    kept = _without_former(providers, allocations, seen.facts)
    lines += [
        LedgerLine("provider", uuid, row.name, "there", "", because("node-deleted"))
        for uuid, row in providers.items()
        if uuid not in kept
    ]
    new = _with_ledger(known, kept, allocations)
    result = audit(judged(new, options), options)
    open_lines = gaps(judged(new, options), known, result, left_out)
    told = with_gaps((*lines, *drafts.lines), open_lines)
    every = with_gaps(told, left(result, new, known, told))
    return Rebuilt(new, allocations, every, result, open_lines)


def _with_ledger(
    facts: Facts, providers: Mapping[str, Provider], allocations: Mapping[str, Allocations]
) -> Facts:
    """These facts with another ledger, and without any trace of the old one."""
    return replace(
        facts,
        providers=providers,
        consumers={uuid: held.amounts for uuid, held in allocations.items()},
        owners={uuid: Owner(held.project, held.user) for uuid, held in allocations.items()},
        holdings={},
        ledger_faults=(),
        ledger_writes={},
    )


def refuse_incomplete(facts: Facts, options: AuditOptions) -> None:
    """Raise EvidenceIncomplete if a source is silent or behind."""
    if gap := with_freshness(facts, options).coverage.gap:
        raise EvidenceIncomplete(gap)


def refuse_faulty(facts: Facts) -> None:
    """Raise LedgerFaulty if rows of the old ledger are faulty.

    SAFETY: no request shows such rows, and yet their resources may be in use. `db fsck` can correct
    them; a rebuild would lose them.
    """
    if facts.ledger_faults:
        raise LedgerFaulty(tuple(_in_words(row, facts) for row in facts.ledger_faults))


def _in_words(fault: LedgerFault, facts: Facts) -> str:
    if not fault.resource_class:
        return fault.what
    where = facts.provider_names.get(fault.subject, fault.subject)
    return f"{fault.what} ({fault.resource_class}={fault.amount} on {where})"


def strangers_in(facts: Facts) -> tuple[str, ...]:
    """The consumers that no cell knows as an instance or a migration, in order."""
    known = facts.alive.keys() | facts.deleted.keys() | {row.uuid for row in facts.migrations}
    return tuple(sorted(facts.consumers.keys() - known))


def unreported(facts: Facts) -> Iterator[ComputeNode]:
    """The compute nodes whose nova-compute has not reported to the new ledger yet.

    nova-compute writes COMPUTE_* traits; a provider that was made here has only the needed ones.
    """
    for node in facts.compute_nodes:
        provider = facts.providers.get(node.uuid)
        traits = provider.traits or frozenset() if provider else frozenset()
        if len([trait for trait in traits if trait.startswith("COMPUTE_")]) <= len(
            {NODE_TRAIT, DISABLED_TRAIT} & traits
        ):
            yield node


def _providers(
    facts: Facts, hosts: HostsOfNova
) -> tuple[dict[str, Provider], dict[str, str], list[LedgerLine]]:
    """The new providers, the new uuids by old ones, and the differences."""
    lines: list[LedgerLine] = []
    nodes = [
        row for uuid, rows in facts.nodes_by_uuid.items() for row in rows if uuid and not rows[1:]
    ]
    pairs = ((_namesake(node, facts), node.uuid) for node in nodes)
    moved = {namesake.uuid: uuid for namesake, uuid in pairs if namesake}
    found = {
        moved.get(row.uuid, row.uuid): replace(
            row,
            uuid=moved.get(row.uuid, row.uuid),
            root=moved.get(row.root, row.root),
            parent=moved.get(row.parent or "", row.parent),
            generation=row.generation + 1,
        )
        for row in facts.providers.values()
    }
    for old, new in sorted(moved.items()):
        name = found[new].name
        lines.append(LedgerLine("provider", new, name, old, new, because("uuid-of-nova")))
    taken = _names_taken(found, nodes)
    for node in sorted(nodes, key=lambda row: row.uuid):
        if node.uuid in found or taken[as_compared(node.node)] == 1:
            changed, new_lines = _of_node(node, found.get(node.uuid), facts, hosts)
            found[node.uuid] = changed
            lines += new_lines
    return _sharing(found), moved, lines


def _names_lacking(facts: Facts) -> Counter[str]:
    """The number of compute nodes without a provider, by name."""
    lacking = (row for row in facts.compute_nodes if row.uuid not in facts.providers)
    return Counter(as_compared(row.node) for row in lacking)


def _names_taken(found: Mapping[str, Provider], nodes: Iterable[ComputeNode]) -> Counter[str]:
    """The number of providers by name, if all of these compute nodes had one.

    SAFETY: Placement accepts a name once. If two compute nodes have one name, it is not known which
    of them a provider or an instance belongs to.
    """
    names = [row.name for row in found.values()]
    names += [row.node for row in nodes if row.uuid not in found]
    return Counter(map(as_compared, names))


def _left_out(providers: Mapping[str, Provider], facts: Facts) -> dict[str, Reason]:
    """Why compute nodes got no provider, by uuid: another provider has their name."""
    reasons = {}
    for uuid, rows in facts.nodes_by_uuid.items():
        if not uuid or uuid in providers or rows[1:]:
            continue
        name = as_compared(rows[0].node)
        namesakes = (row for row in providers.values() if as_compared(row.name) == name)
        there = [f"provider {row.uuid}" for row in namesakes]
        there += [
            f"compute node {row.uuid} of host {row.host}"
            for row in facts.compute_nodes
            if row.uuid != uuid and row.uuid not in providers and as_compared(row.node) == name
        ]
        if there:
            reasons[uuid] = because("name-taken", others=tuple(there), node=uuid)
    return reasons


def _namesake(node: ComputeNode, facts: Facts) -> Provider | None:
    """The root with a node's name and another uuid, which no other compute node has.

    None if it could belong to two compute nodes.
    """
    if node.uuid in facts.providers:
        return None
    if facts.once(_names_lacking)[as_compared(node.node)] > 1:
        return None
    rows = [row for row in facts.providers_by_name.get(node.node, ()) if row.parent is None]
    return rows[0] if len(rows) == 1 and rows[0].uuid not in facts.nodes_by_uuid else None


def _of_node(
    node: ComputeNode, row: Provider | None, facts: Facts, hosts: HostsOfNova
) -> tuple[Provider, list[LedgerLine]]:
    """The root provider of a compute node."""
    lines = []
    made = row is None
    if row is None:
        row = Provider(node.uuid, node.node, 1, node.uuid, {}, traits=frozenset())
    hardware = hosts.hardware.get(node.uuid)
    # Only the bare-metal driver knows the resource class of a node, whose aggregates differ from
    # those of the host that serves it.
    bare_metal = node.hypervisor == IRONIC
    if not row.inventories and hardware is not None and not bare_metal:
        row = replace(row, inventories=inventories_of(hardware, hosts.defaults))
        totals = plain_words({name: inventory.total for name, inventory in row.inventories.items()})
        old = "" if made else "no inventory"
        lines.append(LedgerLine("provider", node.uuid, node.node, old, totals, ASSUMED))
    service = service_of(node, facts)
    wanted = {OWNER_TRAIT, NODE_TRAIT} if made else set()
    wanted |= {DISABLED_TRAIT} if service and service.disabled else set()
    known = row.traits or frozenset()
    traits = known | wanted
    if made and (required := _required_traits(node, facts)):
        # Only nova-compute knows what its host can do.
        reason = because("traits-unreported", traits=required)
        lines.append(LedgerLine("traits", node.uuid, node.node, "", "", reason))
    if not made and traits != known:
        words = " ".join(sorted(traits - known))
        reason = because("service-disabled")
        lines.append(LedgerLine("traits", node.uuid, node.node, "", words, reason))
    of_nova = frozenset(aggregate.uuid for aggregate in facts.host_aggregates)
    old_aggregates = row.aggregates or frozenset()
    right = facts.aggregates_of_hosts.get(node.host, frozenset())
    aggregates = old_aggregates if bare_metal else (old_aggregates - of_nova) | right
    if aggregates != old_aggregates:
        words_old, words_new = (" ".join(sorted(uuids)) for uuids in (old_aggregates, aggregates))
        reason = because("as-host-aggregates")
        lines.append(LedgerLine("aggregates", node.uuid, node.node, words_old, words_new, reason))
    return replace(row, traits=traits, aggregates=aggregates), lines


def _required_traits(node: ComputeNode, facts: Facts) -> str:
    """The traits that the instances of a compute node require by flavor or image, in words."""
    here = [row for row in facts.alive.values() if (row.host, row.node) == (node.host, node.node)]
    properties = [(row.flavor.extra_specs if row.flavor else {}) for row in here]
    properties += [row.image_properties or {} for row in here]
    required = {
        name.partition(":")[2]
        for specs in properties
        for name, value in specs.items()
        if name.startswith("trait") and ":" in name and value == "required"
    }
    return " ".join(sorted(required))


def _sharing(providers: Mapping[str, Provider]) -> dict[str, Provider]:
    """The same providers, shared with trees as their aggregates say."""
    sharing = [row.uuid for row in providers.values() if row.sharing]
    aggregates = {row.uuid: row.aggregates or frozenset() for row in providers.values()}
    return with_sharing(providers.values(), members_of_sharing(sharing, aggregates))


def _amounts_after(held: Amounts, moved: Mapping[str, str]) -> Amounts:
    return {moved.get(uuid, uuid): row for uuid, row in held.items()}


def _without_former(
    providers: Mapping[str, Provider], allocations: Mapping[str, Allocations], facts: Facts
) -> dict[str, Provider]:
    """The providers without unused trees of deleted compute nodes."""
    held = {uuid for row in allocations.values() for uuid in row.amounts}
    in_use = {providers[uuid].root for uuid in held if uuid in providers}
    former = {
        row.uuid
        for row in providers.values()
        if row.parent is None
        and row.uuid not in in_use
        and isinstance(without_node(row, facts), Former)
    }
    return {uuid: row for uuid, row in providers.items() if row.root not in former}
