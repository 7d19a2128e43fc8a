# SPDX-License-Identifier: Apache-2.0
"""Providers whose root is missing, or is not the top of their tree.

Two moves at the same moment can put each of two trees below the other one: their parents then form
a circle. A provider that others in the circle name as their root was a root before one of the
moves. It becomes one again, as if only the other move had happened.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import func, select, update

from trueup.placement.store.engine.changes import PROVIDER, note
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.fsck.findings import Finding, Incomplete
from trueup.placement.store.tables import providers

DEFECT = "broken_root"


@dataclass(frozen=True, slots=True)
class Place:
    """The parent and the root of a provider, as its row has them."""

    id: int
    uuid: str
    parent_id: int | None
    root_id: int | None


@dataclass(frozen=True, slots=True)
class Move:
    """The root that a provider must get, and whether it loses its parent."""

    id: int
    root_id: int
    leaves_parent: bool


def find(tx: Transaction) -> list[Finding]:
    """One finding for each provider."""
    places = _places(tx)
    sound = _without_circles(places)
    found = (_finding(place, sound) for place in places.values())
    return [finding for finding in found if finding is not None]


def repair(tx: Transaction, findings: Sequence[Finding], _incomplete: Incomplete) -> None:
    """Write the root that follows from the parents.

    PARITY: a moved provider keeps its generation.
    """
    for finding in findings:
        _write(tx, finding.rows)


def set_missing_roots(tx: Transaction, most: int) -> int:
    """Write the missing root of at most so many providers, and return their number."""
    places = _places(tx)
    rootless = [place for place in places.values() if place.root_id is None][:most]
    for place in rootless:
        # PARITY: a provider in a circle becomes its own root.
        top = top_of(place, places) or place
        _write(tx, Move(place.id, top.id, leaves_parent=False))
    return len(rootless)


def count_rootless(tx: Transaction) -> int:
    """The number of providers without a root."""
    query = select(func.count()).where(providers.c.root_provider_id.is_(None))
    return tx.scalar(query.select_from(providers)) or 0


def top_of(place: Place, places: Mapping[int, Place]) -> Place | None:
    """The topmost ancestor of a provider, or itself; None if its ancestors form a circle.

    A parent that does not exist counts as none.
    """
    seen = set()
    while place.parent_id is not None and place.parent_id in places:
        if place.id in seen:
            return None
        seen.add(place.id)
        place = places[place.parent_id]
    return place


def circles(places: Mapping[int, Place]) -> list[list[Place]]:
    """The circles of providers that are their own ancestors, each in the order of the ids."""
    found, seen = [], set()
    for place in places.values():
        way: dict[int, Place] = {}
        while place.id not in seen and place.parent_id is not None and place.parent_id in places:
            seen.add(place.id)
            way[place.id] = place
            place = places[place.parent_id]
        if place.id in way:
            ids = list(way)
            circle = ids[ids.index(place.id) :]
            found.append([way[id_] for id_ in sorted(circle)])
    return found


def _without_circles(places: Mapping[int, Place]) -> dict[int, Place]:
    """The places, with no parent for a former root in each circle."""
    sound = dict(places)
    for circle in circles(places):
        named = {place.root_id for place in circle}
        for was_root in [place for place in circle if place.id in named][:1]:
            sound[was_root.id] = replace(was_root, parent_id=None)
    return sound


def _finding(place: Place, places: Mapping[int, Place]) -> Finding | None:
    top = top_of(places[place.id], places)
    if top is None:
        return Finding(
            defect=DEFECT,
            subject=f"provider {place.uuid}",
            evidence="is its own ancestor",
            remedy="none: which of its ancestors was the root cannot be known; give one of them "
            "another parent through the API (microversion 1.37)",
            repairable=False,
        )
    parent_is_gone = place.parent_id is not None and place.parent_id not in places
    is_circle = place.parent_id != places[place.id].parent_id
    leaves_parent = parent_is_gone or is_circle
    if place.root_id == top.id and not leaves_parent:
        return None
    return Finding(
        defect=DEFECT,
        subject=f"provider {place.uuid}",
        evidence="is its own ancestor" if is_circle else _evidence(place, top, places),
        remedy="make it a root" if top.id == place.id else f"write {top.uuid} as its root",
        rows=Move(place.id, top.id, leaves_parent),
    )


def _evidence(place: Place, top: Place, places: Mapping[int, Place]) -> str:
    if place.parent_id is not None and place.parent_id not in places:
        return f"its parent (row {place.parent_id}) does not exist"
    if place.root_id is None:
        return "has no root"
    root = places.get(place.root_id)
    named = root.uuid if root else f"row {place.root_id}, which does not exist"
    return f"its root is {named}; the top of its tree is {top.uuid}"


def _places(tx: Transaction) -> dict[int, Place]:
    query = select(
        providers.c.id,
        providers.c.uuid,
        providers.c.parent_provider_id,
        providers.c.root_provider_id,
    )
    return {row.id: Place(*row) for row in tx.execute(query.order_by(providers.c.id))}


def _write(tx: Transaction, move: Move) -> None:
    values: dict[str, int | None] = {"root_provider_id": move.root_id}
    if move.leaves_parent:
        values["parent_provider_id"] = None
    tx.execute(update(providers).where(providers.c.id == move.id).values(values))
    note(tx, PROVIDER, [move.id])
