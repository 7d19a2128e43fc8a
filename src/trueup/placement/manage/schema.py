# SPDX-License-Identifier: Apache-2.0
"""db sync, version, stamp and detach."""

import argparse
import sys
from typing import Any

from trueup.placement.config import Settings
from trueup.placement.store import migrations
from trueup.placement.store.engine.database import Database


def sync(database: Database, _settings: Settings, _options: Any) -> int:
    """Upgrade the schema to the newest revision."""
    migrations.upgrade(database)
    return 0


def version(database: Database, _settings: Settings, _options: Any) -> int:
    """Print the revision of the schema; None if the database has none."""
    sys.stdout.write(f"{migrations.revision(database)}\n")
    return 0


def add_version(parser: argparse.ArgumentParser) -> None:
    """Add the argument of stamp."""
    parser.add_argument("version", help="the version to stamp")


def stamp(database: Database, _settings: Settings, options: Any) -> int:
    """Write a revision into the database, and change nothing else."""
    migrations.stamp(database, options.version)
    return 0


def detach(database: Database, _settings: Settings, _options: Any) -> int:
    """Drop the tables that only Trueup has."""
    dropped = migrations.detach(database)
    if not dropped:
        sys.stdout.write("There are no tables of Trueup; nothing was dropped.\n")
    for name in dropped:
        sys.stdout.write(f"Dropped {name}\n")
    return 0
