# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable

import pytest

from tests.placement.client import UUID, Client


def test_a_candidate_can_be_claimed_as_it_is(client: Client) -> None:
    client.make_provider(1, inventories={"VCPU": 8})
    (found,) = client.get("/allocation_candidates?resources=VCPU:8").json["allocation_requests"]
    body = {**found, "project_id": "p", "user_id": "u", "consumer_generation": None}
    body["consumer_type"] = "INSTANCE"
    assert client.put(f"/allocations/{UUID(100)}", body).status == 204
    full = client.get("/allocation_candidates?resources=VCPU:1").json
    assert full == {"allocation_requests": [], "provider_summaries": {}}


@pytest.mark.parametrize("randomize", [False, True])
def test_operators_can_limit_the_number_of_candidates(
    serve: Callable[..., Client], empty_ledger: str, randomize: bool
) -> None:
    client = serve(
        empty_ledger,
        placement={
            "max_allocation_candidates": 2,
            "allocation_candidates_generation_strategy": "breadth-first",
            "randomize_allocation_candidates": randomize,
        },
    )
    for number in range(1, 5):
        client.make_provider(number, inventories={"VCPU": 8})
    found = client.get("/allocation_candidates?resources=VCPU:1").json
    assert len(found["allocation_requests"]) == len(found["provider_summaries"]) == 2


def test_names_that_do_not_exist_are_refused(client: Client) -> None:
    by_class = client.get("/allocation_candidates?resources=NOBODY:1")
    assert "Invalid resource class in resources parameter" in by_class.error["detail"]
    by_trait = client.get("/allocation_candidates?resources=VCPU:1&required=NOBODY")
    assert "No such trait(s): NOBODY." in by_trait.error["detail"]
