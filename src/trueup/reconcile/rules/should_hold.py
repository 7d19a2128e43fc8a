# SPDX-License-Identifier: Apache-2.0
"""All that the consumer of an instance should hold, or why that is not certain. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from trueup.reconcile.expected import (
    Ambiguous,
    ExpectedAllocation,
    Known,
    NotOurs,
    Share,
    Unknown,
    emulator_not_counted,
    held_of,
    open_reasons,
    pinned_otherwise,
    share_agrees,
)
from trueup.reconcile.facts import Amounts, Facts, outside_trees
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.claims import OnHost, elsewhere, is_doubled


def should_hold(claim: OnHost, facts: Facts) -> Amounts | Unknown:
    """All that the instance should hold, or why that is not certain.

    What it holds here is kept where it may be right, and so are the shares of ports and devices:
    other defects judge those. SAFETY: if a pool shares with none of the hosts that it holds, its
    resources are kept, because it is not known why it holds them. Devices of its own host that
    nothing known requests are kept too, as those that Cyborg allocates for a port.
    """
    if why := _unknown(claim, facts):
        return Unknown(why)
    here = outside_trees(claim.held, elsewhere(claim, facts), facts)
    strange = {uuid: held for uuid, held in here.items() if _is_strange(uuid, claim, facts)}
    mine = {uuid: held for uuid, held in here.items() if uuid not in strange}
    total = {uuid: dict(held) for uuid, held in strange.items()}
    for share in Share:
        wanted, kept = claim.wanted.of(share), held_of(share, mine)
        certain = share_agrees(share, mine, claim.wanted) or (
            _is_untouched(share, here, claim) and not is_doubled(share, claim)
        )
        if not certain and (why := open_reasons(wanted, facts.provider_names)):
            return Unknown(why)
        if not certain and share is Share.HOST and (why := _processors_in_doubt(claim, kept)):
            return Unknown(why)
        if not certain and (why := _unshared_pool_reason(wanted.known, kept, strange, facts)):
            return Unknown(why)
        for uuid, held in (kept if certain else wanted.known).items():
            total.setdefault(uuid, {}).update(held)
    for uuid, held in _unasked(mine, claim).items():
        total.setdefault(uuid, {}).update(held)
    if total:
        why = not_spare(total, claim, facts)
        return Unknown(why) if why else total
    # SAFETY: what other defects would add must not wait until the instance holds nothing.
    wanted = claim.wanted
    why = open_reasons(wanted, facts.provider_names)
    return Unknown(why) if why else wanted.known


def _unknown(claim: OnHost, facts: Facts) -> Reason | None:
    """Why no part of what it should hold is certain; or None."""
    if not claim.wanted.parts:
        return because("claim-unknown")
    if devices := _devices_of_moves(claim, facts):
        return because("device-of-move-unexplained", classes=tuple(devices))
    return host_share_unknown(claim, facts)


def host_share_unknown(claim: OnHost, facts: Facts) -> Reason | None:
    """Why it is not known what it should hold of its host; or None.

    SAFETY: then nothing that it holds of a host is known to be spare.
    """
    wanted = claim.wanted.of(Share.HOST)
    is_unknown = any(isinstance(part, Unknown) for part in wanted.open)
    return open_reasons(wanted, facts.provider_names) if is_unknown else None


def not_spare(right: Amounts, claim: OnHost, facts: Facts) -> Reason | None:
    """Why it may need more than `right` of what it or its migrations hold; or None.

    SAFETY: where its ports or devices are not known, only a second claim is known to be spare: a
    claim that has the share of a host too, and no more of the other shares than `right` has.
    """
    of_host = _classes(claim.wanted.of(Share.HOST))
    for share in (Share.PORTS, Share.DEVICES):
        wanted = claim.wanted.of(share)
        if not any(isinstance(part, NotOurs | Unknown) for part in wanted.open):
            continue
        kept = by_class(held_of(share, right).values())
        for held in _each_holding(claim, facts):
            lost = _outside(held_of(share, held), right)
            is_claim = of_host <= by_class(held_of(Share.HOST, held).values()).keys()
            if lost and not (is_claim and by_class(held_of(share, held).values()) <= kept):
                names = tuple(sorted(by_class(lost.values())))
                reasons = open_reasons(wanted, facts.provider_names)
                return because("may-need-more", reasons, classes=names)
    return None


def _each_holding(claim: OnHost, facts: Facts) -> Iterator[Amounts]:
    """What it holds of each host, and what each of its migrations holds."""
    others = elsewhere(claim, facts)
    yield outside_trees(claim.held, others, facts)
    for root in sorted(others):
        yield {uuid: row for uuid, row in claim.held.items() if root in facts.roots_of({uuid: row})}
    yield from claim.record.moves.values()


def _outside(held: Amounts, right: Amounts) -> Amounts:
    """The rows whose held amounts exceed those of `right`."""
    return {uuid: row for uuid, row in held.items() if not Counter(row) <= Counter(right.get(uuid))}


def _classes(wanted: ExpectedAllocation) -> frozenset[str]:
    parts = (part for part in wanted.parts if isinstance(part, Known | Ambiguous))
    return frozenset().union(*(part.amounts for part in parts))


def by_class(rows: Iterable[Mapping[str, int]]) -> Counter[str]:
    """The sums of these amounts by resource class."""
    return sum(map(Counter, rows), Counter[str]())


def _processors_in_doubt(claim: OnHost, held: Amounts) -> Reason | None:
    """Why the processors that it should hold on its host are not certain; or None."""
    wanted = claim.wanted.of(Share.HOST)
    return pinned_otherwise(claim.instance, wanted) or emulator_not_counted(
        claim.instance, held, wanted
    )


def _unshared_pool_reason(
    wanted: Amounts, held: Amounts, strange: Amounts, facts: Facts
) -> Reason | None:
    """Why a part that it lacks may be a part that it holds of a strange provider; or None.

    This happens when a host leaves the aggregate of a pool on which the instance has its disk.
    """
    lacking = {
        name
        for uuid, row in wanted.items()
        for name, amount in row.items()
        if held.get(uuid, {}).get(name, 0) < amount
    }
    for uuid, row in sorted(strange.items()):
        if names := sorted(lacking & row.keys()):
            pool = facts.provider_names.get(uuid, uuid)
            return because("holds-of-unshared-pool", classes=tuple(names), pool=pool)
    return None


def _devices_of_moves(claim: OnHost, facts: Facts) -> list[str]:
    """The classes of its own host's devices that migrations hold and nothing requests."""
    return sorted(
        name
        for held in claim.record.moves.values()
        for uuid, row in _unasked(held, claim).items()
        if claim.provider.root in facts.roots_of({uuid: row})
        for name in row
    )


def _unasked(amounts: Amounts, claim: OnHost) -> Amounts:
    """The amounts of devices, of classes that no part of the instance requests."""
    parts = claim.wanted.of(Share.DEVICES).parts
    asked = {name for part in parts if not isinstance(part, Unknown) for name in part.amounts}
    rows = {
        uuid: {name: amount for name, amount in row.items() if name not in asked}
        for uuid, row in held_of(Share.DEVICES, amounts).items()
    }
    return {uuid: row for uuid, row in rows.items() if row}


def _is_untouched(share: Share, here: Amounts, claim: OnHost) -> bool:
    """Whether a share of ports or devices is kept, because all of it is held here."""
    moves = claim.record.moves.values()
    return (
        share is not Share.HOST
        and held_of(share, here) == held_of(share, claim.held)
        and not any(held_of(share, held) for held in moves)
    )


def _is_strange(uuid: str, claim: OnHost, facts: Facts) -> bool:
    provider = facts.providers.get(uuid)
    if provider is None:
        return True
    roots = {claim.provider.root, *elsewhere(claim, facts)}
    return provider.sharing and not provider.shares_with & roots
