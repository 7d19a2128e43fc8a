# SPDX-License-Identifier: Apache-2.0
"""db fsck: inconsistent rows, which no request of the API can show or repair."""

import argparse
from collections.abc import Sequence
from typing import Any

from trueup.exit_codes import ExitCode
from trueup.placement.config import ConfigurationUnusable, Settings
from trueup.placement.manage import listing
from trueup.placement.store import fsck, migrations, schema
from trueup.placement.store.engine.database import Database

COLUMNS = ("Defect", "Subject", "Evidence", "Remedy", "State")

_FOUND, _REPAIRED, _UNREPAIRABLE = "found", "repaired", "cannot be repaired"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "--repair",
        action="store_true",
        help="repair what can be repaired, in one transaction; stop the service first",
    )


def run(database: Database, settings: Settings, options: Any) -> int:
    """Print the findings, and repair them with --repair.

    0: no findings, or all repaired; 3: findings; 4: some cannot be repaired.
    """
    _require_newest_revision(database)
    if options.repair:
        incomplete = fsck.Incomplete(settings.incomplete_project_id, settings.incomplete_user_id)
        done = fsck.repair(database, incomplete)
        rows = [*_rows(done.mended, _REPAIRED), *_rows(done.left, _UNREPAIRABLE)]
        code = ExitCode.SOME_REFUSED if done.left else ExitCode.CLEAN
    else:
        rows = [row for found in fsck.examine(database) for row in _rows([found], _state(found))]
        code = ExitCode.FINDINGS if rows else ExitCode.CLEAN
    listing.write(COLUMNS, rows, options)
    return int(code)


def _require_newest_revision(database: Database) -> None:
    revision = migrations.revision(database)
    if revision != schema.NEWEST_REVISION:
        raise ConfigurationUnusable(
            f"the database is at revision {revision}, and {schema.NEWEST_REVISION} is needed: "
            "run 'trueup-manage db sync' first"
        )


def _state(finding: fsck.Finding) -> str:
    return _FOUND if finding.repairable else _UNREPAIRABLE


def _rows(findings: Sequence[fsck.Finding], state: str) -> list[listing.Row]:
    return [
        (finding.defect, finding.subject, finding.evidence, finding.remedy, state)
        for finding in findings
    ]
