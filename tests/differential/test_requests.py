# SPDX-License-Identifier: Apache-2.0
"""Any sequence of requests gets the same answers from upstream and from us.

Statuses, bodies, the headers that clients look at, and the tables at the end. The same sequences
in each run, unless TRUEUP_EXAMPLES asks for a number of new ones.
"""

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.differential.calls import Draft
from tests.differential.generating import sequences
from tests.differential.pair import TwinFactory

EXAMPLES = os.environ.get("TRUEUP_EXAMPLES")
REQUESTS = 20


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> TwinFactory:
    return TwinFactory(tmp_path_factory.mktemp("twins"))


@settings(
    max_examples=int(EXAMPLES or 60),
    derandomize=EXAMPLES is None,
    database=None,
    deadline=None,
    print_blob=False,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(drafts=sequences(REQUESTS))
def test_any_requests_get_the_same_answers(twins: TwinFactory, drafts: list[Draft]) -> None:
    with twins.pair() as pair:
        for draft in drafts:
            pair.send(draft)
        pair.compare_tables()
