# SPDX-License-Identifier: Apache-2.0
"""Where two views of one moment say different things, in words an operator knows."""

from collections.abc import Iterator
from typing import NamedTuple

from trueup.placement.index.view.columns import View
from trueup.placement.index.view.forest import NO_PARENT


class Difference(NamedTuple):
    """One thing that is not the same."""

    what: str
    subject: str
    followed: str
    loaded: str


NOTHING = "nothing"


def differences(followed: View, loaded: View) -> list[Difference]:
    """All of them; none if the two views answer every request alike."""
    ours, theirs = dict(_statements(followed)), dict(_statements(loaded))
    return sorted(
        Difference(*key, ours.get(key, NOTHING), theirs.get(key, NOTHING))
        for key in ours.keys() | theirs.keys()
        if ours.get(key) != theirs.get(key)
    )


def _statements(view: View) -> Iterator[tuple[tuple[str, str], str]]:
    uuids = view.forest.uuids
    yield from _of_providers(view)
    for name, stock in view.stocks.items():
        columns = (stock.limits, stock.used, stock.min_units, stock.max_units, stock.step_sizes)
        rows = zip(stock.positions.tolist(), *(column.tolist() for column in columns), strict=True)
        for position, limit, used, least, most, step in rows:
            units = f"units {least} to {most} by {step}"
            yield ("inventory", f"{uuids[position]} {name}"), f"{used} of {limit:g}, {units}"
    for position, names in view.traits_of.items():
        yield ("traits", uuids[position]), " ".join(names)
    for what, groups in (("trait of", view.having), ("aggregate of", view.members)):
        for name, positions in groups.items():
            yield (what, name), " ".join(uuids[position] for position in positions.tolist())
    for position in view.sharing.tolist():
        roots = view.shared_with[position].tolist()
        yield ("shares with", uuids[position]), " ".join(uuids[root] for root in roots)
    for what, ids in (
        ("resource class", view.class_ids),
        ("trait", view.trait_ids),
        ("aggregate", view.aggregate_ids),
    ):
        for name, key in ids.items():
            yield (what, name), f"id {key}"
    for row in view.skipped:
        yield ("left out", row.text), "yes"


def _of_providers(view: View) -> Iterator[tuple[tuple[str, str], str]]:
    forest = view.forest
    for position, uuid in enumerate(forest.uuids):
        parent, root = int(forest.parents[position]), int(forest.roots[position])
        above = "no parent" if parent == NO_PARENT else f"parent {forest.uuids[parent]}"
        place = (
            f"position {position} to {forest.ends[position]}, root {forest.uuids[root]}, {above}"
        )
        yield ("provider", uuid), f"generation {view.generations[position]}, {place}"
