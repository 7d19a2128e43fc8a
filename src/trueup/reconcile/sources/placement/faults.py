# SPDX-License-Identifier: Apache-2.0
"""Rows of Placement's database that are wrong by themselves. Pure: rows in, faults out."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from trueup.reconcile.facts import LedgerFault
from trueup.reconcile.sources.database import Row


def consumerless(
    rows: Iterable[Row], uuids: Mapping[int, str], classes: Mapping[int, str]
) -> Iterator[LedgerFault]:
    """Allocations without a consumer, summed by provider and class. `uuids` are the providers'."""
    total: Counter[tuple[str, str]] = Counter()
    for row in rows:
        if uuid := uuids.get(row.resource_provider_id):
            name = classes.get(row.resource_class_id, str(row.resource_class_id))
            total[uuid, name] += row.used
    for (uuid, name), amount in sorted(total.items()):
        what = "allocations whose consumer has no row"
        yield LedgerFault("consumerless", uuid, what, name, amount)


def broken_trees(rows: Iterable[Row]) -> Iterator[LedgerFault]:
    """Providers whose parent does not exist, or whose root is not the top of their tree."""
    every = {row.id: row for row in rows}
    for row in sorted(every.values(), key=lambda one: str(one.uuid)):
        if what := _broken(row, every):
            yield LedgerFault("tree", str(row.uuid), f"{row.name}: {what}")


def dangling(table: str, rows: Iterable[Row]) -> Iterator[LedgerFault]:
    """Rows of a table that belong to providers that do not exist, by the number of the provider."""
    for number, count in sorted(Counter(row.resource_provider_id for row in rows).items()):
        what = f"rows of {table} refer to provider number {number}, which does not exist"
        yield LedgerFault("dangling", f"{table} {number}", what, amount=count)


def _broken(row: Row, every: Mapping[int, Row]) -> str:
    seen, top = {row.id}, row
    while top.parent_provider_id is not None:
        above = every.get(top.parent_provider_id)
        if above is None:
            return "a parent in its tree does not exist"
        if above.id in seen:
            return "its parents form a circle"
        seen.add(above.id)
        top = above
    if row.root_provider_id is None:
        return "its root is not known"
    return "" if row.root_provider_id == top.id else "its root is not the top of its tree"
