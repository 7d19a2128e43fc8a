# SPDX-License-Identifier: Apache-2.0
"""A bad request gets the same refusal as from upstream's service, and never a 5xx.

The same requests in each run, unless TRUEUP_FUZZ_EXAMPLES asks for a number of new ones.
"""

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.fuzz import queries, requests
from tests.fuzz.services import ServicesFactory, Wire

EXAMPLES = os.environ.get("TRUEUP_FUZZ_EXAMPLES")
# Each example is a service of its own, with which this many requests are made.
REQUESTS = 30
KINDS = {
    "bodies": requests.with_bad_bodies(),
    "headers": requests.with_bad_headers(),
    "methods": requests.with_bad_methods(),
    "paths": queries.with_bad_paths(),
    "queries": queries.with_bad_queries(),
}
BOUNDED = settings(
    max_examples=int(EXAMPLES or 8),
    derandomize=EXAMPLES is None,
    database=None,
    deadline=None,
    print_blob=False,
    # Hypothesis prints the one request; making the thirty before it smaller takes minutes.
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def factory(tmp_path_factory: pytest.TempPathFactory) -> ServicesFactory:
    return ServicesFactory(tmp_path_factory.mktemp("fuzz"))


@pytest.mark.parametrize("kind", KINDS)
def test_trueup_refuses_as_upstream_does(factory: ServicesFactory, kind: str) -> None:
    @BOUNDED
    @given(wires=st.lists(KINDS[kind], min_size=REQUESTS, max_size=REQUESTS))
    def agree(wires: list[Wire]) -> None:
        with factory.services() as services:
            for wire in wires:
                services.send(wire)

    agree()
