# SPDX-License-Identifier: Apache-2.0
"""Writes the measurements as a table for people and as JSON for programs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.measuring import Measured
from bench.services import Service

_HEADER = (
    "operation", "clients", "p50 ms", "p95 ms", "p99 ms", "requests/s", "CPU ms, service",
    "CPU ms, database", "bytes", "CPU ratio", "p50 ratio",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cell:
    """The measurements of one operation with a number of clients, for each of the two services."""

    operation: str
    clients: int
    results: tuple[Measured, Measured]

    @property
    def comparable(self) -> bool:
        """Whether both services completed requests."""
        return all(one.count > one.errors for one in self.results)

    @property
    def processor_ratio(self) -> float:
        first, second = self.results
        return first.processor_ms / second.processor_ms if second.processor_ms else 0.0

    @property
    def median_ratio(self) -> float:
        first, second = self.results
        return first.percentile_ms(0.5) / second.percentile_ms(0.5)


def header(services: Sequence[Service]) -> str:
    """The first lines of a Markdown table."""
    first, second = (service.label for service in services)
    return (
        f"Each pair is {first} / {second}; a ratio above 1 means that {second} is better."
        f"\n\n{_row(_HEADER)}\n{_row(['---'] + ['--:'] * (len(_HEADER) - 1))}"
    )


def line(cell: Cell) -> str:
    """One row of the table."""
    results = cell.results
    ratios = ["-", "-"]
    if cell.comparable:
        ratios = [f"{cell.processor_ratio:.1f}", f"{cell.median_ratio:.1f}"]
    cells = (
        cell.operation,
        str(cell.clients),
        *(_pair(one.percentile_ms(share) for one in results) for share in (0.5, 0.95, 0.99)),
        _pair(one.per_second for one in results),
        _pair(1000 * one.service_seconds / max(1, one.count) for one in results),
        _pair(1000 * one.database_seconds / max(1, one.count) for one in results),
        str(results[1].size // max(1, results[1].count)),
        *ratios,
    )
    return _row(cells) + _remarks(cell)


def as_json(cell: Cell, services: Sequence[Service]) -> dict[str, Any]:
    """A row as JSON, including the figures that the table omits."""
    return {
        "operation": cell.operation,
        "clients": cell.clients,
        "processor_ratio": round(cell.processor_ratio, 3) if cell.comparable else None,
        "p50_ratio": round(cell.median_ratio, 3) if cell.comparable else None,
        "services": {
            service.label: _figures(one)
            for service, one in zip(services, cell.results, strict=True)
        },
    }


def _figures(one: Measured) -> dict[str, Any]:
    count = max(1, one.count)
    return {
        "requests": one.count,
        "errors": one.errors,
        "conflicts": one.conflicts,
        "p50_ms": round(one.percentile_ms(0.5), 3),
        "p95_ms": round(one.percentile_ms(0.95), 3),
        "p99_ms": round(one.percentile_ms(0.99), 3),
        "requests_per_second": round(one.per_second, 2),
        "service_processor_ms": round(1000 * one.service_seconds / count, 4),
        "database_processor_ms": round(1000 * one.database_seconds / count, 4),
        "bytes": one.size // count,
    }


def _remarks(cell: Cell) -> str:
    """Refusals and failures, shown at the end of the row."""
    words = []
    for name in ("errors", "conflicts"):
        counts = [getattr(one, name) for one in cell.results]
        if any(counts):
            words.append(f"{name} {counts[0]} / {counts[1]}")
    return f" {', '.join(words)}" if words else ""


def _pair(values: Iterable[float]) -> str:
    return " / ".join(_short(value) for value in values)


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
