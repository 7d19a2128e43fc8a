# SPDX-License-Identifier: Apache-2.0
"""The whole ledger, without generations, for a comparison of before and after."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import requests

from tests.clouds.cloud import TOKEN, RecordedCloud

HEADERS = {"X-Auth-Token": TOKEN, "OpenStack-API-Version": "placement 1.39"}
GENERATIONS = {"generation", "resource_provider_generation", "consumer_generation"}


def placement_json(cloud: RecordedCloud) -> dict[str, Any]:
    """Providers and allocations, without generations: `{"providers": …, "allocations": …}`."""
    return ledger_at(cloud.placement_url)


def ledger_at(placement_url: str) -> dict[str, Any]:
    with requests.Session() as session:
        session.headers.update(HEADERS)

        def get(path: str) -> dict[str, Any]:
            response = session.get(f"{placement_url}{path}", timeout=30)
            response.raise_for_status()
            return response.json()

        providers = {}
        consumers: set[str] = set()
        for row in get("/resource_providers")["resource_providers"]:
            path = f"/resource_providers/{row['uuid']}"
            consumers |= set(get(f"{path}/allocations")["allocations"])
            providers[row["uuid"]] = {
                "name": row["name"],
                "parent": row["parent_provider_uuid"],
                "root": row["root_provider_uuid"],
                "inventories": get(f"{path}/inventories")["inventories"],
                "traits": sorted(get(f"{path}/traits")["traits"]),
                "aggregates": sorted(get(f"{path}/aggregates")["aggregates"]),
            }
        allocations = {consumer: get(f"/allocations/{consumer}") for consumer in sorted(consumers)}
    return _without_generations({"providers": providers, "allocations": allocations})


# What each table says without its own keys, as one row of texts and numbers for each row.
_PROVIDERS = """
    SELECT one.uuid, one.name, parent.uuid, root.uuid FROM resource_providers one
    JOIN resource_providers root ON root.id = one.root_provider_id
    LEFT JOIN resource_providers parent ON parent.id = one.parent_provider_id"""
_INVENTORIES = """
    SELECT one.uuid, class.name, total, reserved, min_unit, max_unit, step_size, allocation_ratio
    FROM inventories JOIN resource_providers one ON one.id = resource_provider_id
    JOIN resource_classes class ON class.id = resource_class_id"""
_TRAITS = """
    SELECT one.uuid, trait.name FROM resource_provider_traits
    JOIN resource_providers one ON one.id = resource_provider_id
    JOIN traits trait ON trait.id = trait_id"""
_AGGREGATES = """
    SELECT one.uuid, aggregate.uuid FROM resource_provider_aggregates
    JOIN resource_providers one ON one.id = resource_provider_id
    JOIN placement_aggregates aggregate ON aggregate.id = aggregate_id"""
_ALLOCATIONS = """
    SELECT consumer_id, one.uuid, class.name, used, project.external_id, user.external_id, type.name
    FROM allocations JOIN resource_providers one ON one.id = resource_provider_id
    JOIN resource_classes class ON class.id = resource_class_id
    JOIN consumers ON consumers.uuid = consumer_id
    JOIN projects project ON project.id = project_id JOIN users user ON user.id = user_id
    LEFT JOIN consumer_types type ON type.id = consumer_type_id"""


def ledger_in(database: Path) -> dict[str, Any]:
    """The ledger that an SQLite file of Placement holds: rows by table, allocations by consumer."""
    allocations: dict[str, list[tuple[Any, ...]]] = {}
    with closing(sqlite3.connect(database)) as connection:
        providers = [
            sorted(connection.execute(statement), key=repr)
            for statement in (_PROVIDERS, _INVENTORIES, _TRAITS, _AGGREGATES)
        ]
        for consumer, *row in sorted(connection.execute(_ALLOCATIONS), key=repr):
            allocations.setdefault(consumer, []).append(tuple(row))
    return {"providers": providers, "allocations": allocations}


def _without_generations(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_generations(part) for key, part in value.items() if key not in GENERATIONS
        }
    return value
