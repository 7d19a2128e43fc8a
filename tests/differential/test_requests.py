# SPDX-License-Identifier: Apache-2.0
"""Any sequence of requests gets the same answers from upstream's service and from Trueup's.

Statuses, bodies, the headers that clients look at, and the tables at the end. The same sequences
in each run, unless TRUEUP_EXAMPLES asks for a number of new ones.
"""

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.clouds import damage
from tests.differential.calls import Draft
from tests.differential.generating import (
    NEWEST,
    PROVIDERS,
    calls,
    draft,
    questions,
    several,
    small_ledger,
)
from tests.differential.pair import Difference, TwinFactory

EXAMPLES = os.environ.get("TRUEUP_EXAMPLES")
IN_STEP = settings(
    max_examples=int(EXAMPLES or 20),
    derandomize=EXAMPLES is None,
    database=None,
    deadline=None,
    print_blob=False,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> TwinFactory:
    return TwinFactory(tmp_path_factory.mktemp("twins"), small_ledger())


@IN_STEP
@given(in_use=st.booleans(), drafts=several(calls(), 20))
def test_any_requests_get_the_same_answers(
    twins: TwinFactory, in_use: bool, drafts: list[Draft]
) -> None:
    play(twins, in_use, drafts)


@IN_STEP
@given(changes=several(calls(), 8), asked=several(questions(), 12))
def test_any_search_finds_the_same(
    twins: TwinFactory, changes: list[Draft], asked: list[Draft]
) -> None:
    play(twins, True, changes + asked)


def play(twins: TwinFactory, in_use: bool, drafts: list[Draft]) -> None:
    with twins.pair(in_use=in_use) as pair:
        for one in drafts:
            pair.send(one)
        pair.compare_tables()


def test_a_difference_names_the_requests_that_led_to_it(twins: TwinFactory) -> None:
    made = draft("POST", "/resource_providers", NEWEST, {"uuid": PROVIDERS[0], "name": "host1"})
    with twins.pair() as pair:
        pair.send(made)
        damage.execute(pair.our_database_url, "UPDATE resource_providers SET generation = 7")
        with pytest.raises(Difference, match=r'POST /resource_providers  \[1.39\]  {"uuid": '):
            pair.compare_tables()


HOST = f"/resource_providers/{PROVIDERS[0]}"
IN_AN_URL = (
    *(("GET", f"{HOST}{url}%0A") for url in ("", "/inventories/VCPU", "/traits", "/aggregates")),
    *(
        ("GET", url)
        for url in ("/%0A", "/traits%0A", "/traits%0A%0A", "/traits/%0A", "/traits/a%00b")
    ),
    *(
        (method, f"/{kind}/CUSTOM_NO{end}")
        for method in ("PUT", "GET", "DELETE")
        for kind in ("traits", "resource_classes")
        for end in ("%0A", "")
    ),
    ("PUT", "/traits/%0A"),
    # Wildcards.
    *(
        ("GET", f"/traits?name=startswith:{prefix}")
        for prefix in ("HW%25SSE", "HW_CPU_X8_", "H%5C_")
    ),
    # Separators of parameters, or not.
    *(
        ("GET", f"{url}{separator}{asked}")
        for url, asked in (
            ("/usages?project_id=a", "user_id=b"),
            ("/usages?project_id=a", "unknown=b"),
            ("/resource_providers?name=host1", f"uuid={PROVIDERS[0]}"),
        )
        for separator in ("&", ";", "%3B", ";;&")
    ),
    ("DELETE", f"{HOST}%0A"),
)


def test_odd_characters_in_a_url_get_the_same_answers(twins: TwinFactory) -> None:
    with twins.pair(in_use=True) as pair:
        for method, url in IN_AN_URL:
            pair.send(draft(method, url, NEWEST))
        pair.compare_tables()
