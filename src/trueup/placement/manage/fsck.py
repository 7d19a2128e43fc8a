# SPDX-License-Identifier: Apache-2.0
"""db fsck: rows that are wrong in themselves, which no request can see or mend."""

import argparse
from collections.abc import Sequence
from typing import Any

from trueup.exit_codes import ExitCode
from trueup.placement.config import ConfigurationUnusable, Settings
from trueup.placement.manage import tables
from trueup.placement.store import fsck, migrations, schema
from trueup.placement.store.engine.database import Database

COLUMNS = ("Defect", "Subject", "Evidence", "Remedy", "State")

_FOUND, _MENDED, _STAYS = "found", "repaired", "cannot be repaired"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "--repair",
        action="store_true",
        help="mend what can be mended, all of it in one transaction; stop the service first",
    )
    tables.add_format(parser)


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
    tables.write(COLUMNS, rows, said.format)
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


def _rows(findings: Sequence[fsck.Finding], state: str) -> list[tables.Row]:
    return [(one.defect, one.subject, one.evidence, one.remedy, state) for one in findings]
