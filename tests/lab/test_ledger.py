# SPDX-License-Identifier: Apache-2.0
from tests.lab.reading import held


def test_providers_are_the_compute_nodes(healthy):
    listed = healthy.placement.get("/resource_providers")["resource_providers"]
    wanted = {(host.uuid, host.node) for host in healthy.blueprint.hosts}
    assert {(provider["uuid"], provider["name"]) for provider in listed} == wanted


def test_inventories_have_novas_ratios_and_usage_is_within_capacity(healthy):
    for host in healthy.blueprint.hosts:
        url = f"/resource_providers/{host.uuid}"
        inventories = healthy.placement.get(f"{url}/inventories")["inventories"]
        usages = healthy.placement.get(f"{url}/usages")["usages"]
        ratios = {name: one["allocation_ratio"] for name, one in inventories.items()}
        assert ratios == {"VCPU": 4.0, "MEMORY_MB": 1.0, "DISK_GB": 1.0}
        for name, fields in inventories.items():
            assert (
                usages[name] <= (fields["total"] - fields["reserved"]) * fields["allocation_ratio"]
            )


def test_hosts_have_novas_traits_and_aggregates(healthy):
    for host in healthy.blueprint.hosts:
        url = f"/resource_providers/{host.uuid}"
        assert {"COMPUTE_NODE", "OWNER_NOVA"} <= set(
            healthy.placement.get(f"{url}/traits")["traits"]
        )
        memberships = {
            aggregate.uuid for aggregate in healthy.blueprint.aggregates if host in aggregate.hosts
        }
        assert set(healthy.placement.get(f"{url}/aggregates")["aggregates"]) == memberships


def test_allocations_are_exactly_the_claims_of_the_blueprint(healthy):
    claims = {
        claim.consumer_uuid: {claim.host.uuid: claim.resources}
        for claim in healthy.blueprint.claims()
    }
    assert held(healthy) == claims


def test_the_container_belongs_to_a_project_without_instances(healthy):
    [container] = healthy.blueprint.containers
    owner = healthy.placement.get(f"/allocations/{container.consumer_uuid}")
    tenants = {instance.tenant.project_id for instance in healthy.blueprint.instances}
    assert owner["project_id"] == container.tenant.project_id
    assert owner["project_id"] not in tenants
