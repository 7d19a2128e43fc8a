# SPDX-License-Identifier: Apache-2.0
"""db online_data_migrations: updates rows of old releases while the service runs.

PARITY: the names, the lines and the exit codes are upstream's, which deployment tools read.
"""

import argparse
import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any

from prettytable import PrettyTable

from trueup.placement.config import Settings
from trueup.placement.store.engine.database import Database, Transaction
from trueup.placement.store.fsck import Incomplete, broken_root, ownerless_allocation

_BATCH = 50
_DONE, _MORE_TO_DO, _FAILED, _BAD_INPUT = 0, 1, 2, 127

_log = logging.getLogger(__name__)

Migration = Callable[[Transaction, int, Incomplete], int]


def set_root_provider_ids(tx: Transaction, most: int, _incomplete: Incomplete) -> int:
    """Providers from before Queens have no root."""
    return broken_root.set_missing_roots(tx, most)


def create_incomplete_consumers(tx: Transaction, most: int, incomplete: Incomplete) -> int:
    """Allocations from before microversion 1.8 have no consumer."""
    return ownerless_allocation.create_consumers(tx, most, incomplete)


MIGRATIONS: tuple[Migration, ...] = (set_root_provider_ids, create_incomplete_consumers)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "--max-count", metavar="<number>", help="Maximum number of objects to consider"
    )


def run(database: Database, settings: Settings, options: Any) -> int:
    """Migrate in batches, or one batch of --max-count.

    0: nothing is left; 1: --max-count was used and rows were migrated; 2: a migration failed and
    no rows were migrated; 127: --max-count is not a positive number.
    """
    limit = _positive(options.max_count) if options.max_count is not None else None
    if limit == 0:
        _say("Must supply a positive value for max_count")
        return _BAD_INPUT
    if limit is None:
        _say(f"Running batches of {_BATCH} until complete")
    database.add_own_tables()
    incomplete = Incomplete(settings.incomplete_project_id, settings.incomplete_user_id)
    totals: dict[str, int] = {}
    while True:
        counts, failed = _run_batch(database, limit or _BATCH, incomplete)
        for name, count in counts.items():
            totals[name] = totals.get(name, 0) + count
        ran = sum(counts.values())
        if limit is not None or ran == 0:
            break
    _say(_table(totals))
    if failed and not (limit is not None and ran):
        _say("Some migrations failed unexpectedly. Check log for details.")
        return _FAILED
    return _MORE_TO_DO if ran else _DONE


def _run_batch(
    database: Database, most: int, incomplete: Incomplete
) -> tuple[Mapping[str, int], bool]:
    counts: dict[str, int] = {}
    failed = False
    for migration in MIGRATIONS:
        name = migration.__name__
        try:
            with database.transaction() as tx:
                counts[name] = migration(tx, most - sum(counts.values()), incomplete)
        except Exception:
            _say(f"Error attempting to run {name}")
            _log.exception("Error attempting to run %s", name)
            counts[name], failed = 0, True
        if counts[name]:
            _say(f"{counts[name]} rows matched query {name}, {counts[name]} migrated")
        if sum(counts.values()) >= most:
            break
    return counts, failed


def _positive(text: str) -> int:
    """The number; 0 for anything that is not a positive number."""
    try:
        return max(int(text), 0)
    except ValueError:
        return 0


def _table(totals: Mapping[str, int]) -> str:
    table = PrettyTable(["Migration", "Total Found", "Completed"])
    for name, count in totals.items():
        table.add_row([name, count, count])
    return str(table)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
