# SPDX-License-Identifier: Apache-2.0
"""index verify: is what workers keep in memory what the database has?"""

import argparse
from collections.abc import Sequence
from typing import Any

from trueup.exit_codes import ExitCode
from trueup.placement.config import Settings
from trueup.placement.index.view.differences import Difference
from trueup.placement.index.view.verify import verify as verify_index
from trueup.placement.manage import tables
from trueup.placement.store.engine.database import Database

COLUMNS = ("What", "Subject", "Followed", "Loaded", "State")

_WRONG, _LATE = "wrong", "written by another service"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "--seconds",
        type=float,
        default=10,
        help="how long to follow what is written (default: %(default)s)",
    )
    tables.add_format(parser)


def verify(database: Database, _settings: Settings, said: Any) -> int:
    """Follow the ledger as a worker does, and print what a fresh look at it has otherwise.

    0: nothing, or only what another service wrote past us a moment ago; 3: there are differences.
    """
    found = verify_index(database, max(0.0, said.seconds))
    rows = [*_rows(found.wrong, _WRONG), *_rows(found.late, _LATE)]
    tables.write(COLUMNS, rows, said.format)
    return int(ExitCode.FINDINGS if found.wrong else ExitCode.CLEAN)


def _rows(found: Sequence[Difference], state: str) -> list[tables.Row]:
    return [(*one, state) for one in found]
