# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable

import pytest

from tests.placement.client import Client


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
