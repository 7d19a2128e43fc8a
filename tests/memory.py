# SPDX-License-Identifier: Apache-2.0
"""Temporary files lie in memory where the machine has room there.

PERF: creating the tables of one Placement takes MariaDB five times as long on a disk, and every
test of a server creates some. Nothing that a test proves survives its process, so a disk adds
nothing. Name a folder in TMPDIR to have the files elsewhere, for example to look at them.
"""

import os
import shutil
import tempfile
from pathlib import Path

FOLDER = Path("/dev/shm")
# A whole run with two workers needs about half of it. In containers the folder is often tiny.
ROOM = 2 * 2**30


def temporary_folder(folder: Path, room: int) -> str | None:
    """The folder if it has room and may be written to; None where files stay where they were."""
    usable = os.access(folder, os.W_OK) and shutil.disk_usage(folder).free >= room
    return str(folder) if usable else None


def pytest_configure() -> None:
    """Before anything asks for a temporary file; workers and servers inherit it."""
    if "TMPDIR" not in os.environ and (found := temporary_folder(FOLDER, ROOM)):
        os.environ["TMPDIR"] = found
        tempfile.tempdir = None
