# SPDX-License-Identifier: Apache-2.0
"""Faulty rows of Placement's database. Pure: rows in, faults out."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from trueup.reconcile.facts import LedgerFault, grouped
from trueup.reconcile.sources.database import Row

_Stock = tuple[str, str]  # provider uuid, resource class


def consumerless(
    rows: Iterable[Row], uuids: Mapping[int, str], classes: Mapping[int, str]
) -> Iterator[LedgerFault]:
    """Allocations without a consumer, summed by provider and class. `uuids` are the providers'."""
    total: Counter[_Stock] = Counter()
    holders: dict[_Stock, set[str]] = defaultdict(set)
    for row in rows:
        if uuid := uuids.get(row.resource_provider_id):
            name = classes.get(row.resource_class_id, str(row.resource_class_id))
            total[uuid, name] += row.used
            holders[uuid, name].add(row.consumer_id)
    yield from _unlisted("allocations whose consumer has no row", total, holders)


def repeated(
    rows: Iterable[Row], uuids: Mapping[int, str], classes: Mapping[int, str]
) -> Iterator[LedgerFault]:
    """The amounts of repeated rows of one consumer, provider and class, except the listed row.

    Placement lists only the last of such rows, but its usages count all of them.
    """
    total: Counter[_Stock] = Counter()
    holders: dict[_Stock, set[str]] = defaultdict(set)
    held: dict[tuple[str, str, str], int] = {}
    for row in sorted(rows, key=lambda row: row.id):
        if uuid := uuids.get(row.resource_provider_id):
            name = classes.get(row.resource_class_id, str(row.resource_class_id))
            key = (row.consumer_id, uuid, name)
            total[uuid, name] += held.get(key, 0)
            held[key] = row.used
            holders[uuid, name].add(row.consumer_id)
    what = "allocations of one consumer in several rows, of which Placement lists one"
    yield from _unlisted(what, total, holders)


def _unlisted(
    what: str, total: Mapping[_Stock, int], holders: Mapping[_Stock, set[str]]
) -> Iterator[LedgerFault]:
    for (uuid, name), amount in sorted(total.items()):
        consumers = tuple(sorted(holders[uuid, name]))
        yield LedgerFault("consumerless", uuid, what, name, amount, consumers)


def broken_trees(rows: Iterable[Row]) -> Iterator[LedgerFault]:
    """Providers whose parent does not exist, or whose root is not the top of their tree."""
    every = {row.id: row for row in rows}
    for row in sorted(every.values(), key=lambda row: str(row.uuid)):
        if what := _broken(row, every):
            yield LedgerFault("tree", str(row.uuid), f"{row.name}: {what}")


def dangling(table: str, kind: str, rows: Iterable[Row]) -> Iterator[LedgerFault]:
    """Rows of a table that refer to providers or resource classes (`kind`) that do not exist, by
    the number that they refer to."""
    by_number = grouped((str(row.number), getattr(row, "consumer_id", "")) for row in rows)
    for number, holders in sorted(by_number.items()):
        what = f"rows of {table} refer to {kind} number {number}, which does not exist"
        subject = f"{table} {number}" if kind == "provider" else f"{table} {kind} {number}"
        consumers = tuple(sorted(set(filter(None, holders))))
        yield LedgerFault("dangling", subject, what, amount=len(holders), consumers=consumers)


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
