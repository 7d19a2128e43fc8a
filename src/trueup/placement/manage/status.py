# SPDX-License-Identifier: Apache-2.0
"""trueup-status upgrade check: whether this release can run on this database.

PARITY: the checks, their texts and the exit codes are upstream's: 0 all is well, 1 warnings,
2 failures, 255 if the check itself fails.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from oslo_upgradecheck import common_checks, upgradecheck

from trueup.placement import config
from trueup.placement.config import ConfigurationUnusable
from trueup.placement.store.engine import availability
from trueup.placement.store.engine.database import Database
from trueup.placement.store.fsck import broken_root, ownerless_allocation

_CHECK_FAILED = 255


class Checks(upgradecheck.UpgradeCommands):
    """The checks that oslo.upgradecheck runs; the first that needs the database opens it."""

    def __init__(self, open_database: Callable[[], Database]):
        super().__init__()
        self._open_database = open_database
        self.config: Any = None

    def check_roots(self) -> upgradecheck.Result:
        """Providers without a root prevent an upgrade of the schema."""
        with self._open_database().reading() as tx:
            if not broken_root.count_rootless(tx):
                return upgradecheck.Result(upgradecheck.Code.SUCCESS)
        return upgradecheck.Result(
            upgradecheck.Code.FAILURE,
            details="There is at least one resource provider table record which misses its root "
            'provider id. Run the "placement-manage db online_data_migrations" command.',
        )

    def check_consumers(self) -> upgradecheck.Result:
        """No request lists allocations without a consumer."""
        with self._open_database().reading() as tx:
            count = ownerless_allocation.count_ownerless(tx)
        if not count:
            return upgradecheck.Result(upgradecheck.Code.SUCCESS)
        return upgradecheck.Result(
            upgradecheck.Code.WARNING,
            details=f"There are {count} incomplete consumers table records for existing "
            'allocations. Run the "placement-manage db online_data_migrations" command.',
        )

    def check_policy_file(self) -> upgradecheck.Result:
        """policy.json was replaced by policy.yaml."""
        return common_checks.check_policy_json(self, self.config)

    _upgrade_checks = (
        ("Missing Root Provider IDs", check_roots),
        ("Incomplete Consumers", check_consumers),
        ("Policy File JSON to YAML Migration", check_policy_file),
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the return value is the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    opened: list[Database] = []
    try:
        return _run(words, opened)
    except (ConfigurationUnusable, availability.DatabaseError) as error:
        sys.stderr.write(f"{Path(sys.argv[0]).name}: {availability.reason(error)}\n")
        return _CHECK_FAILED
    finally:
        for database in opened:
            database.close()


def _run(words: Sequence[str], opened: list[Database]) -> int:
    checks = Checks(lambda: opened[0])
    source = config.load(
        words, add_commands=lambda source: upgradecheck.register_cli_options(source, checks)
    )
    checks.config = source
    opened.append(config.open_database(config.read(source)))
    # The library reads --json from this variable, and otherwise prints a table.
    upgradecheck.CONF = source
    return int(source.command.action_fn())
