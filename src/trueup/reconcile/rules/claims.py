# SPDX-License-Identifier: Apache-2.0
"""Claims: what each instance holds, judged once against what it should hold. Pure.

Each claim has exactly one type, and at most one defect asks for each type. So no two defects decide
about one claim. `unexplained` reports the types that no defect asks for.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from trueup.reconcile.expected import (
    Difference,
    ExpectedAllocation,
    Known,
    Share,
    agrees,
    difference,
    expected,
    expected_before_resize,
    expected_on,
    share_agrees,
)
from trueup.reconcile.facts import (
    OLD_FLAVORS,
    Amounts,
    Facts,
    Instance,
    InstanceRecord,
    Migration,
    Provider,
    grouped,
    outside_trees,
)
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.moves import left_by, root_of
from trueup.reconcile.rules.residence import (
    InMotion,
    NoHost,
    Placed,
    Unconfirmed,
    Undetermined,
    residence,
)
from trueup.reconcile.rules.unconfirmed_moves import (
    in_broken_tree,
    not_on_target,
    on_unknown_host,
    unknown_claims,
    wrong_claims,
)
from trueup.reconcile.rules.whereabouts import as_found
from trueup.reconcile.verdicts import holding


class Moving(msgspec.Struct, frozen=True):
    """Something is under way with the instance."""

    instance: Instance
    reason: Reason


class NotCertain(msgspec.Struct, frozen=True):
    """The facts do not determine what it should hold. `of_instance` is as in `Undetermined`."""

    instance: Instance
    reason: Reason
    of_instance: bool


class OnNoHost(msgspec.Struct, frozen=True):
    """The instance is on no host, and holds nothing."""

    instance: Instance


class HeldWithoutHost(msgspec.Struct, frozen=True):
    """The instance is on no host, but it or one of its migrations holds something."""

    instance: Instance
    record: InstanceRecord


class LostInMove(msgspec.Struct, frozen=True):
    """The instance waits for the confirmation of a move, and has lost one or both of its claims.

    `wanted` are the lost claims: the instance should hold the target, the migration the source.
    """

    instance: Instance
    record: InstanceRecord
    migration: Migration
    wanted: tuple[ExpectedAllocation, ...]


class OnHost(msgspec.Struct, frozen=True):
    """The instance is settled on the host with this provider, and should hold `wanted` there.

    PERF: nearly all claims are of this type, and a struct takes a tenth of the time of a dataclass.
    """

    instance: Instance
    record: InstanceRecord
    provider: Provider
    wanted: ExpectedAllocation

    @property
    def held(self) -> Amounts:
        """What its own consumer holds."""
        return self.record.own


class Right(OnHost, frozen=True):
    """It holds what it should."""


class RightAsFarAsKnown(Right, frozen=True):
    """It holds all that it certainly should. What else it should hold is not certain."""


class HeldByMigration(OnHost, frozen=True):
    """One of its migrations holds something, but none is under way."""


class Missing(OnHost, frozen=True):
    """It holds nothing, and should hold something."""


class Elsewhere(OnHost, frozen=True):
    """It holds nothing of its own host, but resources of other hosts."""


class OnEvacuatedHost(OnHost, frozen=True):
    """It holds its own host, and the source of an evacuation or the target of a failed one."""


class OnHostOfMove(OnHost, frozen=True):
    """It holds its own host, and other hosts that are all source or target of a migration."""


class OnTwoHosts(OnHost, frozen=True):
    """It holds its own host, and another one that no move explains."""


class Doubled(OnHost, frozen=True):
    """It holds twice what it should of its own host."""


class WrongAmount(OnHost, frozen=True):
    """It holds wrong amounts of processors, memory or disk of its own host."""


class PortsMissing(OnHost, frozen=True):
    """It holds what it should of its own host, but not all that its ports request."""


class PortsLeaked(OnHost, frozen=True):
    """It holds what it should of its own host, and more than its ports request."""


class PortsMisplaced(OnHost, frozen=True):
    """It holds the amounts that its ports request, but of the wrong providers of its host."""


class DevicesMissing(OnHost, frozen=True):
    """It holds what it should, except for devices that it has."""


class WrongDevices(OnHost, frozen=True):
    """It holds what it should, and devices that it should not."""


Claim = Moving | NotCertain | OnNoHost | HeldWithoutHost | LostInMove | OnHost
Kind = TypeVar("Kind", bound=Claim)


def all_claims(facts: Facts) -> Iterable[Claim]:
    """The claims of all instances that are alive, in the order of their uuids."""
    return facts.once(_every).values()


def claims(facts: Facts, kind: type[Kind]) -> Iterator[Kind]:
    """The claims of exactly this type, in the same order."""
    return iter(facts.once(_by_type).get(kind, ()))


def claim_of(uuid: str, facts: Facts) -> Claim:
    """The claim of one instance that is alive."""
    found = facts.once(_known_claims)
    if uuid not in found:
        found[uuid] = _claim(facts.alive[uuid], facts)
    return found[uuid]


def elsewhere(claim: OnHost, facts: Facts) -> frozenset[str]:
    """The roots of other hosts' trees in which it holds something."""
    return facts.roots_of(claim.held) - {claim.provider.root}


def evacuated_from(claim: OnHost, facts: Facts) -> Mapping[str, Migration]:
    """The roots of other hosts that it holds because of an evacuation, with the newest of each.

    Such a host is the source of an evacuation that succeeded, or the target of one that failed. An
    instance on the target of a failed evacuation has left the source nevertheless.
    """
    named: dict[str | None, Migration] = {}
    for row in claim.record.migrations:
        if row.kind == "evacuation" and not row.under_way:
            target = root_of(row.cell, *_target(row), facts)
            left = row.status in ("done", "completed") or target == claim.provider.root
            named[left_by(row, facts) if left else target] = row
    return {root: named[root] for root in sorted(elsewhere(claim, facts)) if root in named}


def moved_between(claim: OnHost, facts: Facts) -> Mapping[str, Migration]:
    """The roots of other hosts that it holds and a move names, each with its newest move."""
    named = {
        root_of(row.cell, *place, facts): row
        for row in claim.record.migrations
        for place in (_source(row), _target(row))
    }
    return {root: named[root] for root in sorted(elsewhere(claim, facts)) if root in named}


def _source(row: Migration) -> tuple[str | None, str | None]:
    return row.source_host, row.source_node


def _target(row: Migration) -> tuple[str | None, str | None]:
    return row.target_host, row.target_node


def _known_claims(_: Facts) -> dict[str, Claim]:
    """The claims judged so far, by instance; `claim_of` adds more."""
    return {}


def _by_type(facts: Facts) -> dict[type[Any], tuple[Any, ...]]:
    """All claims by their type. PERF: defects ask 18 times, and nearly all claims are `Right`."""
    return grouped((type(claim), claim) for claim in all_claims(facts))


def _every(facts: Facts) -> dict[str, Claim]:
    known, alive = facts.once(_known_claims), facts.alive
    for uuid, instance in alive.items():
        if uuid not in known:
            known[uuid] = _claim(instance, facts)
    return {uuid: known[uuid] for uuid in sorted(alive)}


def _claim(instance: Instance, facts: Facts) -> Claim:
    record = facts.record(instance.uuid)
    match residence(instance, record, facts):
        case InMotion(reason):
            return Moving(instance, reason)
        case Unconfirmed(migration):
            return _unconfirmed(instance, record, migration, facts)
        case Undetermined(reason, of_instance):
            return NotCertain(instance, reason, of_instance)
        case NoHost():
            holds = record.own or record.moves
            return HeldWithoutHost(instance, record) if holds else OnNoHost(instance)
        case Placed(provider):
            if why := _in_broken_tree(record, facts):
                return NotCertain(instance, why, of_instance=True)
            wanted = expected_on(provider.root, as_found(instance, record, facts), facts)
            # PERF: nearly all instances hold exactly this. Then no other type fits: everything
            # wanted is of this host, and of providers that share with it.
            exact = not record.moves and record.own == wanted.known and not wanted.open
            if exact:
                return Right(instance, record, provider, wanted)
            claim = OnHost(instance, record, provider, wanted)
            if why := _of_two_flavors(claim, facts):
                return NotCertain(instance, why, of_instance=True)
            return _kind(claim, facts)(instance, record, provider, wanted)


def _of_two_flavors(claim: OnHost, facts: Facts) -> Reason | None:
    """Why its flavor is not certain; None if it is certain.

    Nova forgets the old flavor when a resize is confirmed or reverted, but not when somebody sets
    such a status by hand. SAFETY: only its own claim on its own host may confirm the flavor. Where
    Nova died just before it forgot the old flavor, that claim is right.
    """
    instance, root = claim.instance, claim.provider.root
    before = expected_before_resize(root, instance, facts)
    if before is None or before.parts == claim.wanted.parts:
        return None
    here = outside_trees(claim.held, elsewhere(claim, facts), facts)
    differs = [share for share in Share if before.of(share).parts != claim.wanted.of(share).parts]
    if all(share_agrees(share, here, claim.wanted) for share in differs):
        return None
    names = facts.provider_names
    own, old = (holding(allocation.known, names) for allocation in (claim.wanted, before))
    return because("two-flavors", holds=holding(claim.held, names), new=own, old=old)


def _in_broken_tree(record: InstanceRecord, facts: Facts) -> Reason | None:
    """Why the host on which it holds something is not certain; or None."""
    if not facts.broken_roots:
        return None
    roots = (facts.roots_of(held) for held in (record.own, *record.moves.values()))
    broken = sorted(frozenset().union(*roots) & facts.broken_roots.keys())
    return (
        because("holds-of-broken-tree", broken=str(facts.broken_roots[broken[0]]))
        if broken
        else None
    )


def _unconfirmed(
    instance: Instance, record: InstanceRecord, migration: Migration, facts: Facts
) -> Moving | LostInMove | NotCertain:
    """Until the confirmation two claims are right, also on one host (Launchpad 1790204).

    SAFETY: if one claim has wrong amounts, the other may be merged into it, and not lost. A host
    without a provider is reported once, for the whole host.
    """
    reason = not_on_target(instance, migration) or on_unknown_host(migration, facts)
    if reason := reason or in_broken_tree(migration, facts) or _in_broken_tree(record, facts):
        return NotCertain(instance, reason, of_instance=True)
    move = {"kind": migration.kind, "status": migration.status}
    if not migration.uuid:
        reason = because("move-without-uuid", **move)
        return NotCertain(instance, reason, of_instance=True)
    hosts = (_source(migration), _target(migration))
    roots = [root_of(migration.cell, *place, facts) for place in hosts]
    every = expected(instance, facts)
    held = {instance.uuid: record.own, **record.moves}
    lost = tuple(
        allocation for allocation in every if allocation.parts and not held.get(allocation.consumer)
    )
    kept = all(
        agrees(held.get(allocation.consumer, {}), allocation)
        for allocation in every
        if allocation not in lost
    )
    if lost and kept and all(roots) and record.moves.keys() <= {migration.uuid}:
        return LostInMove(instance, record, migration, lost)
    if all(roots) and (wrong := wrong_claims(every, held, facts.provider_names)):
        reason = because("move-claims-wrong", wrong, **move)
        return NotCertain(instance, reason, of_instance=True)
    if all(roots) and (unknown := unknown_claims(every, held, facts.provider_names)):
        reason = because("move-claims-unknown", unknown, **move)
        if facts.has(OLD_FLAVORS):
            return NotCertain(instance, reason, of_instance=True)
        return Moving(instance, reason)
    if not all(roots):
        return Moving(instance, because("move-status", **move))
    return Moving(instance, because("waits-for-confirmation", **move))


def _kind(claim: OnHost, facts: Facts) -> type[OnHost]:
    """The type of a claim on a host: the first that fits, the worst types first."""
    if claim.record.moves:
        return HeldByMigration
    if not claim.held:
        return Missing if claim.wanted.parts else Right
    others = elsewhere(claim, facts)
    if not others:
        return _kind_on_host(claim)
    if others == facts.roots_of(claim.held):
        return Elsewhere
    if evacuated_from(claim, facts):
        return OnEvacuatedHost
    return OnHostOfMove if others == moved_between(claim, facts).keys() else OnTwoHosts


def _kind_on_host(claim: OnHost) -> type[OnHost]:
    if agrees(claim.held, claim.wanted):
        return RightAsFarAsKnown if claim.wanted.open else Right
    if not share_agrees(Share.HOST, claim.held, claim.wanted):
        return Doubled if is_doubled(Share.HOST, claim) else WrongAmount
    if not share_agrees(Share.PORTS, claim.held, claim.wanted):
        return _kind_of_ports(difference(Share.PORTS, claim.held, claim.wanted))
    of_devices = difference(Share.DEVICES, claim.held, claim.wanted)
    return WrongDevices if of_devices.excess else DevicesMissing


def _kind_of_ports(found: Difference) -> type[OnHost]:
    if not found.lacking:
        return PortsLeaked
    lacking = Counter[str]()
    for part in found.lacking:
        lacking.update(part.amounts)
    excess = sum(map(Counter, found.excess.values()), Counter[str]())
    certain = all(isinstance(part, Known) for part in found.lacking)
    return PortsMisplaced if certain and lacking == excess else PortsMissing


def is_doubled(share: Share, claim: OnHost) -> bool:
    """Whether it holds twice everything that it should hold in this share."""
    parts = claim.wanted.of(share).parts
    twice = ExpectedAllocation(claim.instance.uuid, parts * 2)
    return bool(parts) and share_agrees(share, claim.held, twice)
