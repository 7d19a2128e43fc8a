# SPDX-License-Identifier: Apache-2.0
"""The recordings: names of the clouds, their dumps, and what is wrong in each."""

import hashlib
import json
import lzma
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).parent / "recordings"
CLOUDS = (
    "healthy",
    "deleted-by-hand",
    "missing-and-wrong",
    "uuid-changed",
    "port-without-allocation",
    "placement-emptied",
    "evacuated",
    "every-kind",
)
NOVA_API = "nova_api"
PLACEMENT = "placement"
CELLS = {"cell0": "nova_cell0", "cell1": "nova_cell1", "cell2": "nova_cell2"}
ALWAYS_OWN = (PLACEMENT, NOVA_API)
DATABASES = (*ALWAYS_OWN, *CELLS.values())


def dump(cloud: str, database: str) -> str:
    """The SQL that makes one database of a cloud again."""
    with lzma.open(RECORDINGS / cloud / f"{database}.sql.xz", "rt", encoding="utf-8") as source:
        return source.read()


def ports(cloud: str) -> list[dict[str, Any]]:
    """The ports as that cloud's Neutron listed them."""
    with lzma.open(RECORDINGS / cloud / "ports.json.xz", "rt", encoding="utf-8") as source:
        return list(json.load(source)["ports"])


def fingerprint(cloud: str, database: str) -> str:
    """The same for two clouds in which the database is the same."""
    return hashlib.sha256(dump(cloud, database).encode()).hexdigest()


def what(cloud: str) -> str:
    """What is wrong there, in words."""
    return (RECORDINGS / cloud / "what.txt").read_text()
