# SPDX-License-Identifier: Apache-2.0
"""What was recorded: the names of the clouds, their dumps, and what is wrong in each."""

import lzma
from pathlib import Path

RECORDINGS = Path(__file__).parent / "recordings"
CLOUDS = (
    "healthy",
    "deleted-by-hand",
    "missing-and-wrong",
    "uuid-changed",
    "port-without-allocation",
    "placement-emptied",
    "evacuated",
)
CELLS = ("cell0", "cell1", "cell2")
NOVA_API = "nova_api"
PLACEMENT = "placement"
DATABASES = (PLACEMENT, NOVA_API, *(f"nova_{cell}" for cell in CELLS))


def dump(cloud: str, database: str) -> str:
    """The SQL that makes one database of a cloud again."""
    with lzma.open(RECORDINGS / cloud / f"{database}.sql.xz", "rt", encoding="utf-8") as source:
        return source.read()


def what(cloud: str) -> str:
    """What is wrong there, in words."""
    return (RECORDINGS / cloud / "what.txt").read_text()
