# SPDX-License-Identifier: Apache-2.0
"""The whole ledger, read over the API, for a comparison of before and after."""

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


def _without_generations(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_generations(part) for key, part in value.items() if key not in GENERATIONS
        }
    return value
