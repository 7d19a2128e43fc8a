# SPDX-License-Identifier: Apache-2.0
"""Providers whose root is not the top of their tree: unknown, wrong, or out of reach."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select, update

from trueup.placement.store.engine.changes import PROVIDER, note
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.fsck.findings import Finding, Incomplete
from trueup.placement.store.tables import providers

DEFECT = "broken_root"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the rows say that a provider is."""

    id: int
    uuid: str
    parent_id: int | None
    root_id: int | None


@dataclass(frozen=True, slots=True)
class Move:
    """Where a provider belongs."""

    id: int
    root_id: int
    parent_is_gone: bool


def find(tx: Transaction) -> list[Finding]:
    """One finding for each provider."""
    places = _read(tx)
    found = (_judge(place, places) for place in places.values())
    return [finding for finding in found if finding is not None]


def repair(tx: Transaction, findings: Sequence[Finding], _incomplete: Incomplete) -> None:
    """Write the root that follows from the parents.

    PARITY: a provider that is put elsewhere keeps its generation.
    """
    for finding in findings:
        _write(tx, finding.rows)


def set_missing_roots(tx: Transaction, most: int) -> int:
    """Give at most so many providers the root they lack; how many got one."""
    places = _read(tx)
    rootless = [place for place in places.values() if place.root_id is None][:most]
    for place in rootless:
        # Parents that lead in a circle have no top; upstream's answer is the provider itself.
        top = top_of(place, places) or place
        _write(tx, Move(place.id, top.id, parent_is_gone=False))
    return len(rootless)


def count_rootless(tx: Transaction) -> int:
    """How many providers have no root at all."""
    query = select(func.count()).where(providers.c.root_provider_id.is_(None))
    return tx.scalar(query.select_from(providers)) or 0


def top_of(place: Place, places: Mapping[int, Place]) -> Place | None:
    """The provider at the top, going from parent to parent; None if that goes round in a circle.

    A parent that does not exist ends the way, so the provider below it is the top.
    """
    seen = set()
    while place.parent_id is not None and place.parent_id in places:
        if place.id in seen:
            return None
        seen.add(place.id)
        place = places[place.parent_id]
    return place


def _judge(place: Place, places: Mapping[int, Place]) -> Finding | None:
    top = top_of(place, places)
    if top is None:
        return Finding(
            defect=DEFECT,
            subject=f"provider {place.uuid}",
            evidence="is its own ancestor",
            remedy="none: which of its ancestors is the root cannot be known; give one of them "
            "another parent through the API (microversion 1.37)",
            repairable=False,
        )
    parent_is_gone = place.parent_id is not None and place.parent_id not in places
    if place.root_id == top.id and not parent_is_gone:
        return None
    return Finding(
        defect=DEFECT,
        subject=f"provider {place.uuid}",
        evidence=_evidence(place, top, places, parent_is_gone),
        remedy="make it a root" if top is place else f"write {top.uuid} as its root",
        rows=Move(place.id, top.id, parent_is_gone),
    )


def _evidence(place: Place, top: Place, places: Mapping[int, Place], parent_is_gone: bool) -> str:
    if parent_is_gone:
        return f"its parent (row {place.parent_id}) does not exist"
    if place.root_id is None:
        return "has no root"
    root = places.get(place.root_id)
    named = root.uuid if root else f"row {place.root_id}, which does not exist"
    return f"its root is {named}; the top of its tree is {top.uuid}"


def _read(tx: Transaction) -> dict[int, Place]:
    query = select(
        providers.c.id,
        providers.c.uuid,
        providers.c.parent_provider_id,
        providers.c.root_provider_id,
    )
    return {row.id: Place(*row) for row in tx.execute(query.order_by(providers.c.id))}


def _write(tx: Transaction, move: Move) -> None:
    values: dict[str, int | None] = {"root_provider_id": move.root_id}
    if move.parent_is_gone:
        values["parent_provider_id"] = None
    tx.execute(update(providers).where(providers.c.id == move.id).values(values))
    note(tx, PROVIDER, [move.id])
