# SPDX-License-Identifier: Apache-2.0
"""Counts of capacity as a table for people."""

from collections.abc import Iterable

from trueup.capacity import words
from trueup.capacity.counting import By, Capacity, Count, Row
from trueup.capacity.fragments import Gains, unusable
from trueup.capacity.relocation import Failure, Move
from trueup.reconcile.report.tables import Cell, Columns, Table

_GROUPS = {By.CELL: "Cell", By.ZONE: "Zone", By.AGGREGATE: "Aggregate", By.HOST: "Host"}


def columns(by: By, *, planned: bool) -> Columns:
    """The columns for groups of this kind, with or without what is after a plan."""
    group = (_GROUPS[by],) if by in _GROUPS else ()
    after = ("After plan",) if planned else ()
    return (
        "Flavor", *group, "Fits now", "Hosts", "Most on one", "After repair", *after,
        "Limited by",
    )  # fmt: skip


def capacity_table(found: Capacity, *, planned: bool) -> Table:
    """A row for each kind of server in each group."""
    return columns(found.by, planned=planned), [_row(row, found.by, planned) for row in found.rows]


def _row(row: Row, by: By, planned: bool) -> tuple[Cell, ...]:
    group = (row.group or "none",) if by in _GROUPS else ()
    after = (_fits(row, row.planned),) if planned else ()
    return (
        row.asked.name, *group, _fits(row, row.now), row.now.hosts, row.now.largest,
        _fits(row, row.repaired or row.now), *after, words.bindings(row.binds),
    )  # fmt: skip


def _fits(row: Row, count: Count | None) -> Cell:
    """A number, or at most how many where not all is known."""
    if count is None:
        return ""
    return f"at most {count.fits}" if row.gaps else count.fits


def unusable_columns(by: By) -> Columns:
    """The columns of what is free and of no use, for groups of this kind."""
    group = (_GROUPS[by],) if by in _GROUPS else ()
    return ("Flavor", *group, "Class", "Free", "Usable", "Free but unusable")


def unusable_table(found: Capacity) -> Table:
    """A row for each class of each kind of server in each group."""
    return unusable_columns(found.by), [
        (
            row.asked.name, *((row.group or "none",) if found.by in _GROUPS else ()),
            name, free, free - rest, rest,
        )
        for row in found.rows
        for name, (free, rest) in unusable(row, found.free).items()
    ]  # fmt: skip


GAINS_COLUMNS = ("Server", "UUID", "From", "To", "Fits then")
MOVES_COLUMNS = ("Server", "UUID", "From", "To", "Remark")
FAILURES_COLUMNS = ("Group", "Hosts that fail", "Servers", "Without a place", "Which, and why")


def moves_table(moves: Iterable[Move]) -> Table:
    """A row for each server, in the order of the moves."""
    return MOVES_COLUMNS, [
        (row.server.name, row.server.uuid, row.server.host or "", row.to or "", words.move(row))
        for row in moves
    ]


def gains_table(found: Gains) -> Table:
    """A row for each move, in their order."""
    return GAINS_COLUMNS, [
        (server.name, server.uuid, server.host or "", gain.move.to or "", gain.fits)
        for gain in found.moves
        for server in (gain.move.server,)
    ]


def failures_table(failures: Iterable[Failure]) -> Table:
    """A row for each failure that leaves servers without a place."""
    return FAILURES_COLUMNS, [
        (
            failure.group,
            ", ".join(failure.hosts),
            len(failure.moves),
            len(failure.homeless),
            "\n".join(f"{each.server.name}: {words.move(each)}" for each in failure.homeless),
        )
        for failure in failures
        if failure.homeless
    ]
