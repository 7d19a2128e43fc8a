# SPDX-License-Identifier: Apache-2.0
"""db fsck: rows that are wrong in themselves, which no request can see or mend."""

import argparse
import csv
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prettytable import PrettyTable

from trueup.exit_codes import ExitCode
from trueup.placement.config import ConfigurationUnusable, Settings
from trueup.placement.store import fsck, migrations, schema
from trueup.placement.store.database import Database

COLUMNS = ("Defect", "Subject", "Evidence", "Remedy", "State")
Row = tuple[str, str, str, str, str]

_FOUND, _MENDED, _STAYS = "found", "repaired", "cannot be repaired"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "--repair",
        action="store_true",
        help="mend what can be mended, all of it in one transaction; stop the service first",
    )
    parser.add_argument(
        "-f",
        "--format",
        choices=sorted(_FORMATS),
        default="table",
        help="how to print what was found (default: %(default)s)",
    )


def run(database: Database, settings: Settings, said: Any) -> int:
    """Print what is wrong, and mend it if --repair says so.

    0: nothing is wrong, or all is mended; 3: there are findings; 4: mended, but some cannot be.
    """
    _require_newest_revision(database)
    if said.repair:
        incomplete = fsck.Incomplete(settings.incomplete_project_id, settings.incomplete_user_id)
        done = fsck.repair(database, incomplete)
        rows = [*_rows(done.mended, _MENDED), *_rows(done.left, _STAYS)]
        code = ExitCode.SOME_REFUSED if done.left else ExitCode.CLEAN
    else:
        rows = [row for found in fsck.examine(database) for row in _rows([found], _state(found))]
        code = ExitCode.FINDINGS if rows else ExitCode.CLEAN
    sys.stdout.write(_FORMATS[said.format](rows))
    return int(code)


def _require_newest_revision(database: Database) -> None:
    revision = migrations.revision(database)
    if revision != schema.NEWEST_REVISION:
        raise ConfigurationUnusable(
            f"the database is at revision {revision}, and {schema.NEWEST_REVISION} is needed: "
            "run 'trueup-manage db sync' first"
        )


def _state(finding: fsck.Finding) -> str:
    return _FOUND if finding.repairable else _STAYS


def _rows(findings: Sequence[fsck.Finding], state: str) -> list[Row]:
    return [(one.defect, one.subject, one.evidence, one.remedy, state) for one in findings]


def _as_table(rows: Sequence[Row]) -> str:
    if not rows:
        return "Nothing is wrong.\n"
    table = PrettyTable(COLUMNS, align="l", max_table_width=160)
    table.add_rows([list(row) for row in rows])
    return f"{table}\n"


def _as_json(rows: Sequence[Row]) -> str:
    found = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    return json.dumps(found, indent=2) + "\n"


def _as_csv(rows: Sequence[Row]) -> str:
    lines = _Lines()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerows([COLUMNS, *rows])
    return "".join(lines.written)


def _as_values(rows: Sequence[Row]) -> str:
    return "".join(" ".join(row) + "\n" for row in rows)


class _Lines:
    """Keeps what the csv module writes."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, text: str) -> None:
        self.written.append(text)


_FORMATS: Mapping[str, Callable[[Sequence[Row]], str]] = {
    "csv": _as_csv,
    "json": _as_json,
    "table": _as_table,
    "value": _as_values,
}
