# SPDX-License-Identifier: Apache-2.0
"""All that an instance should hold, by its own consumer, or why that is not certain. Pure."""

from trueup.reconcile.claims import OnHost, elsewhere, is_doubled
from trueup.reconcile.expected import (
    Share,
    Unknown,
    emulator_not_counted,
    held_of,
    open_reasons,
    pinned_otherwise,
    share_agrees,
)
from trueup.reconcile.facts import Amounts, Facts, outside_trees


def should_hold(claim: OnHost, facts: Facts) -> Amounts | Unknown:
    """All that the instance should hold, or why that is not certain.

    What it holds here is kept where it may be right, and so are the shares of ports and devices:
    other defects judge those. SAFETY: resources of a pool that shares with none of the hosts that
    it holds are kept, because it is not known why it holds them. So are devices of its own host
    that nothing known of it asks for, as those that Cyborg allocates for a port.
    """
    if not claim.wanted.parts:
        return Unknown("what it should hold is not known")
    if devices := _devices_of_moves(claim, facts):
        return Unknown(f"it is not known why a migration of it holds {', '.join(devices)}")
    here = outside_trees(claim.held, elsewhere(claim, facts), facts)
    strange = {uuid: held for uuid, held in here.items() if _is_strange(uuid, claim, facts)}
    mine = {uuid: held for uuid, held in here.items() if uuid not in strange}
    total = {uuid: dict(held) for uuid, held in strange.items()}
    for share in Share:
        wanted, kept = claim.wanted.of(share), held_of(share, mine)
        certain = share_agrees(share, mine, claim.wanted) or (
            _is_untouched(share, here, claim) and not is_doubled(share, claim)
        )
        if not certain and wanted.open:
            return Unknown(open_reasons(wanted, facts.provider_names))
        if not certain and share is Share.HOST and (why := _processors_in_doubt(claim, kept)):
            return Unknown(why)
        if not certain and (why := _held_elsewhere(wanted.known, kept, strange, facts)):
            return Unknown(why)
        for uuid, held in (kept if certain else wanted.known).items():
            total.setdefault(uuid, {}).update(held)
    for uuid, held in _unasked(mine, claim).items():
        total.setdefault(uuid, {}).update(held)
    if total:
        return total
    # SAFETY: what other defects would add is not put off until the instance holds nothing.
    wanted = claim.wanted
    return Unknown(open_reasons(wanted, facts.provider_names)) if wanted.open else wanted.known


def _processors_in_doubt(claim: OnHost, held: Amounts) -> str:
    """Why it is not certain which processors it should hold on its host; or ""."""
    wanted = claim.wanted.of(Share.HOST)
    return pinned_otherwise(claim.instance, wanted) or emulator_not_counted(
        claim.instance, held, wanted
    )


def _held_elsewhere(wanted: Amounts, held: Amounts, strange: Amounts, facts: Facts) -> str:
    """Why a part that it lacks may be one that it holds of a strange provider; or "".

    So it is when a host has left the aggregate of a pool on which the instance has its disk.
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
            return f"it holds {', '.join(names)} of {pool}, which does not share with its host"
    return ""


def _devices_of_moves(claim: OnHost, facts: Facts) -> list[str]:
    """Classes of devices of its own host that migrations hold, and that nothing asks for."""
    return sorted(
        name
        for held in claim.record.moves.values()
        for uuid, row in _unasked(held, claim).items()
        if claim.provider.root in facts.roots_of({uuid: row})
        for name in row
    )


def _unasked(amounts: Amounts, claim: OnHost) -> Amounts:
    """Those of these amounts that are of devices, of classes that no part of it asks for."""
    parts = claim.wanted.of(Share.DEVICES).parts
    asked = {name for part in parts if not isinstance(part, Unknown) for name in part.amounts}
    rows = {
        uuid: {name: amount for name, amount in row.items() if name not in asked}
        for uuid, row in held_of(Share.DEVICES, amounts).items()
    }
    return {uuid: row for uuid, row in rows.items() if row}


def _is_untouched(share: Share, here: Amounts, claim: OnHost) -> bool:
    """Whether a share of ports or devices stays as it is, because all of it is held here."""
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
