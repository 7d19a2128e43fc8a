# SPDX-License-Identifier: Apache-2.0
"""What two requests fight over: rows that belong to one round, put there by SQL.

    root ── middle ── leaf        other ── twig        empty

`root`, `middle` and `twig` have processors; `keeper` holds one of `middle`, `tenant` two of `root`.
Nobody uses the class and the trait that are called FREE; `twig` has the trait that is called WORN.
"""

import functools
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy
from sqlalchemy.pool import NullPool

# SAFETY: far above what a sequence of the database gives the rows that requests make.
FIRST_ID = 1_000_000
IDS_OF_A_ROUND = 10
PROVIDERS = ("root", "middle", "leaf", "other", "twig", "empty")
PARENTS = {"middle": "root", "leaf": "middle", "twig": "other"}
ROOTS = {"middle": "root", "leaf": "root", "twig": "other"}
CAPACITIES = {"root": 4, "middle": 2, "twig": 2}
HELD = {"keeper": ("middle", 1), "tenant": ("root", 2)}
PROCESSORS = "VCPU"


@dataclass(frozen=True, slots=True)
class Arena:
    """The names of what belongs to one round."""

    number: int

    def uuid(self, name: str) -> str:
        """Of a provider, consumer or aggregate, whether it is there already or not."""
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.number} {name}"))

    def named(self, name: str) -> str:
        """The name of a provider, project or user."""
        return f"round {self.number} {name}"

    def custom(self, name: str) -> str:
        """The name of a resource class, trait or consumer type."""
        return f"CUSTOM_{name}_OF_{self.number}"

    def id(self, number: int) -> int:
        return FIRST_ID + self.number * IDS_OF_A_ROUND + number


def prepare(url: str, arenas: Sequence[Arena]) -> None:
    """Write the rows of these rounds into a database that an application has been started on."""
    engine = sqlalchemy.create_engine(url, poolclass=NullPool)
    tables = sqlalchemy.MetaData()
    tables.reflect(engine)
    with engine.begin() as connection:
        processors = connection.scalar(
            sqlalchemy.text("SELECT id FROM resource_classes WHERE name = :name"),
            {"name": PROCESSORS},
        )
        rows_of = functools.partial(_rows, processors=processors)
        for table in _rows(arenas[0], processors):
            rows = [row for arena in arenas for row in rows_of(arena)[table]]
            connection.execute(tables.tables[table].insert(), rows)


def _rows(arena: Arena, processors: int) -> dict[str, list[dict[str, Any]]]:
    """By table, in the order in which they refer to each other."""
    ids = {name: arena.id(number) for number, name in enumerate(PROVIDERS)}
    return {
        "resource_classes": [{"id": arena.id(0), "name": arena.custom("FREE")}],
        "traits": [
            {"id": arena.id(0), "name": arena.custom("FREE")},
            {"id": arena.id(1), "name": arena.custom("WORN")},
        ],
        "resource_providers": [
            {
                "id": ids[name],
                "uuid": arena.uuid(name),
                "name": arena.named(name),
                "generation": 0,
                "root_provider_id": ids[ROOTS.get(name, name)],
                "parent_provider_id": ids[PARENTS[name]] if name in PARENTS else None,
            }
            for name in PROVIDERS
        ],
        "resource_provider_traits": [
            {"resource_provider_id": ids["twig"], "trait_id": arena.id(1)}
        ],
        "inventories": [
            {
                "id": arena.id(number),
                "resource_provider_id": ids[name],
                "resource_class_id": processors,
                "total": total,
                "reserved": 0,
                "min_unit": 1,
                "max_unit": total,
                "step_size": 1,
                "allocation_ratio": 1.0,
            }
            for number, (name, total) in enumerate(CAPACITIES.items())
        ],
        **_consumers(arena, ids, processors),
    }


def _consumers(arena: Arena, ids: dict[str, int], processors: int) -> dict[str, Any]:
    return {
        "projects": [{"id": arena.id(0), "external_id": arena.named("project")}],
        "users": [{"id": arena.id(0), "external_id": arena.named("user")}],
        "consumers": [
            {
                "id": arena.id(number),
                "uuid": arena.uuid(name),
                "project_id": arena.id(0),
                "user_id": arena.id(0),
                "generation": 1,
            }
            for number, name in enumerate(HELD)
        ],
        "allocations": [
            {
                "id": arena.id(number),
                "resource_provider_id": ids[provider],
                "resource_class_id": processors,
                "consumer_id": arena.uuid(name),
                "used": used,
            }
            for number, (name, (provider, used)) in enumerate(HELD.items())
        ],
    }
