# SPDX-License-Identifier: Apache-2.0
"""openstacksdk's placement proxy gets the same from our service as from upstream's."""

from collections.abc import Callable, Iterator
from typing import Any

import openstack
import pytest
from openstack import exceptions
from openstack.placement.v1._proxy import Proxy

from tests.clouds.cloud import TOKEN

HOST = "11111111-1111-4111-8111-111111111111"
AGGREGATE = "44444444-4444-4444-8444-444444444444"
# They lead to the service, each on a port of its own.
ADDRESSES = {"links", "location"}


def providers(sdk: Proxy) -> Iterator[Any]:
    yield sdk.create_resource_provider(uuid=HOST, name="host1")
    yield sdk.update_resource_provider(HOST, name="host2")
    yield sdk.get_resource_provider(HOST)
    yield sdk.find_resource_provider("host2")
    yield list(sdk.resource_providers(name="host2"))
    yield sdk.delete_resource_provider(HOST)
    yield list(sdk.resource_providers())
    yield refusal(sdk.get_resource_provider, HOST)
    yield refusal(sdk.delete_resource_provider, HOST, ignore_missing=False)


def inventories(sdk: Proxy) -> Iterator[Any]:
    host = sdk.create_resource_provider(uuid=HOST, name="host1")
    yield sdk.create_resource_provider_inventory(host, "VCPU", total=8)
    yield sdk.update_resource_provider_inventory(
        "VCPU", host, total=16, resource_provider_generation=1
    )
    yield sdk.get_resource_provider_inventory("VCPU", host)
    yield list(sdk.resource_provider_inventories(host))
    yield refusal(sdk.create_resource_provider_inventory, host, "VCPU", total=8)
    yield refusal(sdk.create_resource_provider_inventory, host, "NONSENSE", total=8)
    yield sdk.delete_resource_provider_inventory("VCPU", host)
    yield list(sdk.resource_provider_inventories(host))


def traits(sdk: Proxy) -> Iterator[Any]:
    yield sdk.create_trait("CUSTOM_FAST")
    yield sdk.get_trait("CUSTOM_FAST")
    yield sorted(trait.name for trait in sdk.traits(name="startswith:CUSTOM"))
    yield sdk.delete_trait("CUSTOM_FAST")
    yield refusal(sdk.get_trait, "CUSTOM_FAST")
    yield refusal(sdk.create_trait, "FAST")
    yield refusal(sdk.delete_trait, "HW_CPU_X86_AVX2", ignore_missing=False)


def aggregates(sdk: Proxy) -> Iterator[Any]:
    host = sdk.create_resource_provider(uuid=HOST, name="host1")
    yield sdk.set_resource_provider_aggregates(host, AGGREGATE)
    yield sdk.fetch_resource_provider_aggregates(HOST)
    yield list(sdk.resource_providers(member_of=AGGREGATE))


def classes(sdk: Proxy) -> Iterator[Any]:
    yield sdk.create_resource_class(name="CUSTOM_GOLD")
    yield sdk.get_resource_class("CUSTOM_GOLD")
    yield sorted(one.name for one in sdk.resource_classes())
    yield sdk.delete_resource_class("CUSTOM_GOLD")
    yield refusal(sdk.get_resource_class, "CUSTOM_GOLD")
    yield refusal(sdk.create_resource_class, name="GOLD")
    yield refusal(sdk.delete_resource_class, "VCPU", ignore_missing=False)


def refusal(action: Callable, *arguments: Any, **options: Any) -> tuple[int, str]:
    with pytest.raises(exceptions.HttpException) as refused:
        action(*arguments, **options)
    return refused.value.status_code, str(refused.value.details)


@pytest.mark.parametrize(
    "story", [providers, inventories, traits, aggregates, classes], ids=lambda story: story.__name__
)
def test_the_sdk_gets_the_same(
    placement_of: Callable[[str, str], str], story: Callable[[Proxy], Iterator[Any]]
) -> None:
    found = {}
    for implementation in ("upstream", "trueup"):
        url = placement_of("empty", implementation)
        cloud = openstack.connect(
            load_yaml_config=False,
            load_envvars=False,
            auth_type="admin_token",
            auth={"endpoint": url, "token": TOKEN},
        )
        with cloud:
            found[implementation] = [plain(one) for one in story(cloud.placement)]
    assert found["trueup"] == found["upstream"]


def plain(value: Any) -> Any:
    """What the client made of an answer, without where it came from."""
    if isinstance(value, list):
        return [plain(one) for one in value]
    if hasattr(value, "to_dict"):
        return {key: part for key, part in value.to_dict().items() if key not in ADDRESSES}
    return value
