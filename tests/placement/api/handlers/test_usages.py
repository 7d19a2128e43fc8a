# SPDX-License-Identifier: Apache-2.0
"""Usages on each kind of database, which differ most in grouping."""

from collections.abc import Callable

from tests.placement.client import UUID, Client, claim


def test_sums_of_providers_projects_and_types(
    serve: Callable[..., Client], ledger_url: str
) -> None:
    client = serve(ledger_url)
    client.make_provider(1, inventories={"VCPU": 8, "DISK_GB": 8, "MEMORY_MB": 8})
    client.claim(100, {1: {"VCPU": 1, "DISK_GB": 2}})
    client.claim(101, {1: {"VCPU": 2}})
    migration = {**claim({1: {"VCPU": 1}}), "consumer_type": "MIGRATION", "user_id": "other"}
    client.put(f"/allocations/{UUID(102)}", migration)
    untyped = {k: v for k, v in claim({1: {"VCPU": 1}}).items() if k != "consumer_type"}
    client.put(f"/allocations/{UUID(103)}", untyped, version="1.37")

    of_provider = client.get(f"/resource_providers/{UUID(1)}/usages").json["usages"]
    assert of_provider == {"VCPU": 5, "DISK_GB": 2, "MEMORY_MB": 0}

    def of_project(query: str = "", version: str = "1.39") -> object:
        return client.get(f"/usages?project_id=a-project{query}", version=version).json["usages"]

    instances = {"VCPU": 3, "DISK_GB": 2, "consumer_count": 2}
    migrations = {"VCPU": 1, "consumer_count": 1}
    unknown = {"VCPU": 1, "consumer_count": 1}
    assert of_project(version="1.37") == {"VCPU": 5, "DISK_GB": 2}
    assert of_project("&user_id=other", "1.37") == {"VCPU": 1}
    assert of_project() == {"INSTANCE": instances, "MIGRATION": migrations, "unknown": unknown}
    assert of_project("&consumer_type=INSTANCE") == {"INSTANCE": instances}
    assert of_project("&consumer_type=unknown") == {"unknown": unknown}
    assert of_project("&consumer_type=all") == {
        "all": {"VCPU": 5, "DISK_GB": 2, "consumer_count": 4}
    }
    assert of_project("&consumer_type=NOBODY") == {}
