# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable

import pytest

from tests.placement.client import UUID, Client

PATH = f"/resource_providers/{UUID(1)}/inventories"


@pytest.fixture
def host(client: Client) -> Client:
    client.make_provider(1, inventories={"VCPU": 8})
    return client


def test_inventories_are_replaced_together(host: Client) -> None:
    wanted = {"resource_provider_generation": 1, "inventories": {"DISK_GB": {"total": 5}}}
    reply = host.put(PATH, wanted)
    assert reply.json["resource_provider_generation"] == 2
    assert host.get(PATH).json == reply.json


def test_one_inventory_is_added_changed_and_removed(host: Client) -> None:
    added = host.post(PATH, {"resource_class": "DISK_GB", "total": 5})
    assert (added.status, added.json["resource_provider_generation"]) == (201, 2)
    assert added.headers["location"].endswith(f"{PATH}/DISK_GB")
    assert host.post(PATH, {"resource_class": "DISK_GB", "total": 5}).status == 409
    body = {"resource_provider_generation": 2, "total": 6}
    assert host.put(f"{PATH}/DISK_GB", body).json["total"] == 6
    assert host.delete(f"{PATH}/DISK_GB").status == 204
    assert host.get(f"{PATH}/DISK_GB").status == 404


def test_an_inventory_in_use_is_not_removed(host: Client) -> None:
    host.claim(100, {1: {"VCPU": 1}})
    emptied = host.put(PATH, {"resource_provider_generation": 2, "inventories": {}})
    assert emptied.error["code"] == "placement.inventory.inuse"
    assert host.delete(PATH).error["code"] == "placement.inventory.inuse"
    assert host.delete(f"{PATH}/VCPU").error["code"] == "placement.concurrent_update"
    assert host.get(PATH).json["inventories"]["VCPU"]["total"] == 8


def test_refusals_come_in_the_order_of_upstream(host: Client) -> None:
    """A missing provider, a bad body, a stale generation, a bad capacity, an unknown class."""
    elsewhere = f"/resource_providers/{UUID(9)}/inventories"
    assert host.put(elsewhere, {"bad": 1}).status == 404
    assert host.put(PATH, {"bad": 1}).status == 400
    reserved = {"VCPU": {"total": 1, "reserved": 2}}
    stale = {"resource_provider_generation": 0, "inventories": reserved}
    assert host.put(PATH, stale).status == 409
    assert host.put(PATH, {**stale, "resource_provider_generation": 1}).status == 400
    unknown = {"resource_provider_generation": 1, "inventories": {"NOBODY": {"total": 1}}}
    assert "Unknown resource class" in host.put(PATH, unknown).error["detail"]


def test_deleting_all_is_known_since_1_5(host: Client) -> None:
    assert host.delete(PATH, version="1.4").status == 405
    assert host.delete(PATH, version="1.5").status == 204


def test_shrinking_below_what_is_used_is_allowed_and_logged(
    host: Client, caplog: pytest.LogCaptureFixture
) -> None:
    host.claim(100, {1: {"VCPU": 6}})
    body = {"resource_provider_generation": 2, "inventories": {"VCPU": {"total": 2}}}
    assert host.put(PATH, body).status == 200
    assert "over-capacity for VCPU" in caplog.text


@pytest.mark.parametrize("ratio", [2**63, 2**64, 10**30])
def test_a_ratio_may_be_a_large_integer(
    serve: Callable[..., Client], ledger_url: str, ratio: int
) -> None:
    client = serve(ledger_url)
    client.make_provider(1)
    added = client.post(PATH, {"resource_class": "VCPU", "total": 8, "allocation_ratio": ratio})
    assert (added.status, added.json["allocation_ratio"]) == (201, float(ratio))
    inventory = {"total": 9, "allocation_ratio": ratio}
    wanted = {"resource_provider_generation": 1, "inventories": {"VCPU": inventory}}
    assert client.put(PATH, wanted).status == 200
    one = client.put(f"{PATH}/VCPU", {"resource_provider_generation": 2, **inventory})
    assert (one.status, one.json["resource_provider_generation"]) == (200, 3)
    assert client.get(PATH).json["inventories"]["VCPU"]["allocation_ratio"] > 9e18
    assert client.get("/allocation_candidates?resources=VCPU:1").status == 200


def test_a_ratio_that_no_float_can_hold_is_refused(host: Client) -> None:
    for digits in (39, 400):
        below = {"resource_class": "DISK_GB", "total": 8, "allocation_ratio": -(10**digits)}
        assert host.post(PATH, below).status == 400


def test_an_integer_may_have_a_fraction_of_zero(
    serve: Callable[..., Client], ledger_url: str
) -> None:
    """As in JSON Schema, and with upstream."""
    client = serve(ledger_url)
    client.make_provider(1, inventories={"VCPU": 8})
    amounts = {"total": 16.0, "reserved": 1.0, "min_unit": 2.0, "max_unit": 4.0, "step_size": 2.0}
    wanted = {"resource_provider_generation": 1.0, "inventories": {"VCPU": amounts}}
    assert client.put(PATH, wanted).status == 200
    again = client.put(f"{PATH}/VCPU", {"resource_provider_generation": 2.0, **amounts})
    assert (again.status, again.json["resource_provider_generation"]) == (200, 3)
    assert client.get(PATH).json["inventories"]["VCPU"] == {**amounts, "allocation_ratio": 1.0}
    assert client.put(PATH, {**wanted, "resource_provider_generation": 4.0}).status == 409
