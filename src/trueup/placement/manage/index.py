# SPDX-License-Identifier: Apache-2.0
"""index verify: compare the view that workers keep in memory with the database."""

import argparse
from collections.abc import Sequence
from typing import Any

from trueup.exit_codes import ExitCode
from trueup.placement.config import Settings
from trueup.placement.index.view.differences import Difference
from trueup.placement.index.view.verify import verify as verify_index
from trueup.placement.manage import listing
from trueup.placement.store.engine.database import Database

COLUMNS = ("What", "Subject", "In memory", "In the database", "State")

_WRONG, _LATE = "wrong", "written by another service"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "--seconds",
        type=float,
        default=10,
        help="how long to refresh the view before the comparison (default: %(default)s)",
    )


def verify(database: Database, _settings: Settings, options: Any) -> int:
    """Refresh a view as a worker does, and print its differences from a new view.

    0: no difference, or only recent writes of another service; 3: differences.
    """
    found = verify_index(database, max(0.0, options.seconds))
    rows = [*_rows(found.wrong, _WRONG), *_rows(found.late, _LATE)]
    listing.write(COLUMNS, rows, options)
    return int(ExitCode.FINDINGS if found.wrong else ExitCode.CLEAN)


def _rows(found: Sequence[Difference], state: str) -> list[listing.Row]:
    return [(*difference, state) for difference in found]
