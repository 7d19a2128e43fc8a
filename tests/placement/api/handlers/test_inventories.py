# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable

import pytest

from tests.placement.client import UUID, Client

PATH = f"/resource_providers/{UUID(1)}/inventories"


@pytest.fixture
def host(client: Client) -> Client:
    client.make_provider(1, inventories={"VCPU": 8})
    return client


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
    """As in JSON Schema and upstream."""
    client = serve(ledger_url)
    client.make_provider(1, inventories={"VCPU": 8})
    amounts = {"total": 16.0, "reserved": 1.0, "min_unit": 2.0, "max_unit": 4.0, "step_size": 2.0}
    wanted = {"resource_provider_generation": 1.0, "inventories": {"VCPU": amounts}}
    assert client.put(PATH, wanted).status == 200
    again = client.put(f"{PATH}/VCPU", {"resource_provider_generation": 2.0, **amounts})
    assert (again.status, again.json["resource_provider_generation"]) == (200, 3)
    assert client.get(PATH).json["inventories"]["VCPU"] == {**amounts, "allocation_ratio": 1.0}
    assert client.put(PATH, {**wanted, "resource_provider_generation": 4.0}).status == 409
