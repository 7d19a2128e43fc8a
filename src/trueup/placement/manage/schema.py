# SPDX-License-Identifier: Apache-2.0
"""db sync, version, stamp and detach."""

import argparse
import sys
from typing import Any

from trueup.placement.config import Settings
from trueup.placement.store import migrations
from trueup.placement.store.engine.database import Database


def sync(database: Database, _settings: Settings, _said: Any) -> int:
    """Bring the schema to the newest revision."""
    migrations.upgrade(database)
    return 0


def version(database: Database, _settings: Settings, _said: Any) -> int:
    """Print the revision that the database says it is at; None if it does not say."""
    sys.stdout.write(f"{migrations.revision(database)}\n")
    return 0


def add_version(parser: argparse.ArgumentParser) -> None:
    """The argument of stamp."""
    parser.add_argument("version", help="the version to stamp")


def stamp(database: Database, _settings: Settings, said: Any) -> int:
    """Let the database say that it is at a revision."""
    migrations.stamp(database, said.version)
    return 0


def detach(database: Database, _settings: Settings, _said: Any) -> int:
    """Drop the tables of our own."""
    dropped = migrations.detach(database)
    if not dropped:
        sys.stdout.write("There are no tables of Trueup; nothing was dropped.\n")
    for name in dropped:
        sys.stdout.write(f"Dropped {name}\n")
    return 0
