# SPDX-License-Identifier: Apache-2.0
"""What plain SQL sees wrong, on rows as Nova and Placement write them."""

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

from tests.real.cloud.discrepancies import discrepancies

HOLDS = {"VCPU": 1, "MEMORY_MB": 64, "DISK_GB": 3}


class Node(NamedTuple):
    host: str
    uuid: str


def flavor(vcpus: int) -> dict[str, Any]:
    sizes = {"vcpus": vcpus, "memory_mb": 64, "root_gb": 1, "ephemeral_gb": 1, "swap": 512}
    return {"nova_object.data": sizes}


@dataclass
class Rows:
    """In place of a cloud: everything is in cell1."""

    held: list[tuple[str, str, dict[str, int]]]
    task: str | None = None
    state: str = "active"
    migrations: list[tuple[str, str, str, str, int]] = field(default_factory=list)
    mappings: tuple[tuple[str, str | None], ...] = (("server", "cell1"),)
    builds: tuple[tuple[str], ...] = ()

    def sql(self, database: str, statement: str) -> list[Any]:
        if database == "placement":
            return [(who, on, *one) for who, on, has in self.held for one in has.items()]
        if database == "nova_api":
            return list(self.mappings if "instance_mappings" in statement else self.builds)
        if database != "nova_cell1":
            return []
        if "FROM compute_nodes" in statement:
            return [Node("host1", "node1"), Node("host2", "node2")]
        if "FROM migrations" in statement:
            return self.migrations
        flavors = json.dumps({"cur": flavor(1), "old": flavor(2), "new": None})
        return [("server", "host1", self.state, self.task, flavors)]


RIGHT = [("server", "node1", HOLDS)]
OLD = HOLDS | {"VCPU": 2}
WAITS = [("move", "server", "finished", "host2", 0)]


@pytest.mark.parametrize(
    "rows",
    [
        Rows(RIGHT),
        Rows(RIGHT, mappings=(("server", "cell1"), ("new", None)), builds=(("new",),)),
        Rows(RIGHT, mappings=(("server", "cell1"), ("buried", "cell0"))),
        Rows([*RIGHT, ("move", "node2", OLD)], state="resized", migrations=WAITS),
    ],
)
def test_what_is_right(rows):
    assert discrepancies(rows) == {}


@pytest.mark.parametrize(
    ("rows", "subject", "under_way"),
    [
        (Rows([]), "server", False),
        (Rows([("server", "node2", HOLDS)]), "server", False),
        (Rows([("server", "node1", OLD)]), "server", False),
        (Rows([*RIGHT, ("server", "node2", HOLDS)]), "server", False),
        (Rows([*RIGHT, ("nobody", "node2", HOLDS)]), "nobody", False),
        (
            Rows(
                [*RIGHT, ("move", "node2", OLD)],
                migrations=[("move", "server", "confirmed", "host2", 0)],
            ),
            "server",
            False,
        ),
        (Rows(RIGHT, mappings=(("server", None),)), "server", False),
        (Rows(RIGHT, mappings=(("server", "cell2"),)), "server", False),
        (Rows(RIGHT, mappings=(("server", "cell1"), ("gone", None))), "gone", False),
        (Rows(RIGHT, mappings=(("server", None),), task="deleting"), "server", True),
        (Rows([], task="spawning"), "server", True),
        (Rows([], migrations=[("move", "server", "migrating", "host2", 0)]), "server", True),
        (Rows([], migrations=[("move", "server", "migrating", "host2", 9)]), "server", False),
    ],
)
def test_what_is_wrong(rows, subject, under_way):
    [found] = discrepancies(rows).values()
    assert (found.subject, found.under_way) == (subject, under_way)
