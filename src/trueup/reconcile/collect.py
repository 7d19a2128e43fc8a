# SPDX-License-Identifier: Apache-2.0
"""Collect: a cloud → facts. Sources are read side by side, and each says whether it answered."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar

from trueup.reconcile.cloud import Cloud
from trueup.reconcile.cloud.errors import Unreachable
from trueup.reconcile.cloud.nova import Cell, CellContents
from trueup.reconcile.facts import Answer, BuildRequest, Coverage, Facts, Instance

# stage, how many are done, of how many
Progress = Callable[[str, int, int], None]
Fetched = TypeVar("Fetched")

_CELLS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class _Told:
    """One cell's answer, and its contents if it gave them."""

    answer: Answer
    contents: CellContents | None


def collect(cloud: Cloud, progress: Progress) -> Facts:
    """One picture of the cloud.

    Raises Unreachable when Placement or Nova's API database does not answer, since without them
    nothing can be said; a cell that does not answer is named in the coverage.
    """
    taken_at = datetime.now(UTC).replace(tzinfo=None)
    ledger = cloud.placement.ledger(lambda done, total: progress("providers", done, total))
    cells = cloud.nova.cells()
    with ThreadPoolExecutor(_CELLS_AT_ONCE) as pool:
        told = []
        for one in pool.map(lambda cell: _read_cell(cloud, cell), cells):
            told.append(one)
            progress("cells", len(told), len(cells))
    contents = [one.contents for one in told if one.contents]
    instances = tuple(row for one in contents for row in one.instances)
    unknown = ledger.consumers.keys() - {row.uuid for row in instances}
    named, answers = _look_up(cloud, cells, tuple(one.answer for one in told), unknown)
    return Facts(
        taken_at=taken_at,
        coverage=Coverage((Answer("Placement", True, len(ledger.providers)), *answers)),
        cells={cell.uuid: cell.name for cell in cells},
        providers=ledger.providers,
        consumers=ledger.consumers,
        instances=instances + named,
        migrations=tuple(row for one in contents for row in one.migrations),
        compute_nodes=tuple(row for one in contents for row in one.compute_nodes),
        services=tuple(row for one in contents for row in one.services),
        build_requests=tuple(map(BuildRequest, sorted(cloud.nova.builds()))),
    )


def with_holdings(facts: Facts, cloud: Cloud, consumers: Iterable[str]) -> Facts:
    """The same facts, and of these consumers also owner and generation."""
    return replace(facts, holdings=cloud.placement.holdings(consumers))


def _read_cell(cloud: Cloud, cell: Cell) -> _Told:
    try:
        contents = cloud.nova.contents(cell)
    except Unreachable as silence:
        return _Told(Answer(cell.name, False, reason=silence.reason), None)
    return _Told(Answer(cell.name, True, contents.rows), contents)


def _look_up(
    cloud: Cloud, cells: tuple[Cell, ...], answers: tuple[Answer, ...], consumers: Iterable[str]
) -> tuple[tuple[Instance, ...], tuple[Answer, ...]]:
    """The rows that any cell has of these consumers, and the answers: a cell may fall silent."""

    found: list[Instance] = []
    asked: list[Answer] = []
    wanted = tuple(consumers)
    for cell, answer in zip(cells, answers, strict=True):
        if answer.answered:
            try:
                found.extend(cloud.nova.named(cell, wanted))
            except Unreachable as silence:
                answer = Answer(cell.name, False, reason=silence.reason)
        asked.append(answer)
    return tuple(found), tuple(asked)
