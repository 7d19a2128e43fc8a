# SPDX-License-Identifier: Apache-2.0
"""Observations of the simulated cloud: each database is read at a moment of its own."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from tests.simulator.cloud import Cloud
from tests.simulator.places import CELLS
from tests.simulator.rows import AggregateRow, CellRows, ClaimRow, MappingRow, PortRow, ProviderRow


@dataclass
class Observed:
    """One observation, read part by part while the cloud goes on. A cell that is down is None."""

    taken_at: datetime
    read_until: datetime | None = None
    ledger: Mapping[str, ClaimRow] = field(default_factory=dict)
    providers: Mapping[str, ProviderRow] = field(default_factory=dict)
    builds: frozenset[str] = frozenset()
    mappings: Mapping[str, MappingRow] = field(default_factory=dict)
    host_mappings: Mapping[str, str] = field(default_factory=dict)
    aggregates: tuple[AggregateRow, ...] = ()
    ports: tuple[PortRow, ...] = ()
    # Those that Neutron does not list. Nova's own copies have them.
    hidden_ports: tuple[PortRow, ...] = ()
    # Where guests run, according to the hypervisors. None: they were not asked.
    guests: frozenset[tuple[str, str]] | None = None
    silent_hypervisors: frozenset[str] = frozenset()
    cells: dict[str, CellRows | None] = field(default_factory=dict)
    # The rows of consumers that are no living server, read by uuid at the end.
    named: dict[str, CellRows | None] = field(default_factory=dict)


def observe(
    cloud: Cloud,
    observed: Observed,
    hypervisors: bool = False,
    suspects: frozenset[str] = frozenset(),
) -> Iterator[str]:
    """Read one part after the other into `observed`: the ledger first, then what explains it.

    Yields the name of each part before it is read, so that the cloud can go on meanwhile. Of
    `suspects` every row in every cell is read, also those of living servers that are deleted.
    """
    yield "ledger"
    observed.ledger = dict(cloud.ledger)
    observed.providers = dict(cloud.providers)
    yield "API database"
    observed.builds = frozenset(cloud.builds)
    observed.mappings = dict(cloud.mappings)
    observed.host_mappings = dict(cloud.host_mappings)
    observed.aggregates = tuple(cloud.aggregates.values())
    for name in CELLS:
        yield name
        observed.cells[name] = cloud.cells[name].read()
    yield "ports"
    hidden = cloud.hidden_ports
    observed.ports = tuple(row for row in cloud.ports.values() if row.uuid not in hidden)
    observed.hidden_ports = tuple(row for row in cloud.ports.values() if row.uuid in hidden)
    observed.guests = frozenset(cloud.guests) if hypervisors else None
    observed.silent_hypervisors = frozenset(cloud.off)
    alive = {row.uuid for rows in observed.cells.values() if rows for row in _living(rows)}
    asked, unknown = alive, (_wanted(observed) - alive) | suspects
    while unknown:
        for name in CELLS:
            if observed.cells[name] is not None:
                yield f"{name}, by uuid"
                found = _only(cloud.cells[name].read(), unknown)
                observed.named[name] = _with(observed.named.get(name, CellRows()), found)
        asked |= unknown
        unknown = _wanted(observed) - asked
    observed.read_until = cloud.now


def _wanted(observed: Observed) -> set[str]:
    """The consumers, the servers of migrations that hold something, and those of guests."""
    read = (row for rows in observed.cells.values() if rows for row in rows.migrations.values())
    moves = [row for row in read if not row.deleted and not row.archived]
    # A migration that is deleted is read by its uuid only.
    moves += (row for rows in observed.named.values() if rows for row in rows.migrations.values())
    guests = {uuid for uuid, _ in observed.guests or ()}
    moved = {row.server for row in moves if row.uuid in observed.ledger}
    return moved | guests | set(observed.ledger)


def _living(rows: CellRows) -> Iterator[object]:
    return (row for row in rows.servers.values() if not row.deleted)


def _only(rows: CellRows | None, uuids: Iterable[str]) -> CellRows | None:
    if rows is None:
        return None
    wanted = frozenset(uuids)
    return CellRows(
        {uuid: row for uuid, row in rows.servers.items() if uuid in wanted},
        {uuid: row for uuid, row in rows.migrations.items() if uuid in wanted},
    )


def _with(rows: CellRows | None, more: CellRows | None) -> CellRows | None:
    """Both; None if one of them is, as the cell is silent then."""
    if rows is None or more is None:
        return None
    return CellRows({**rows.servers, **more.servers}, {**rows.migrations, **more.migrations})
