# SPDX-License-Identifier: Apache-2.0
from tests.placement.index.clouds import SHARES, Host, view_of
from trueup.placement.index.view.differences import Difference, differences

CLOUD = [
    Host("host", {"VCPU": 8}, traits=("FAST",), aggregates=("rack",)),
    Host("numa", {"VCPU": 4}, parent="host"),
    Host("pool", {"DISK_GB": 9}, traits=(SHARES,), aggregates=("rack",)),
]


def test_equal_views_have_none() -> None:
    assert differences(view_of(CLOUD), view_of(CLOUD)) == []


def test_each_difference_is_named() -> None:
    busy = Host("host", {"VCPU": 8}, traits=("FAST",), aggregates=("rack",), used={"VCPU": 3})
    assert differences(view_of([busy, *CLOUD[1:]]), view_of(CLOUD)) == [
        Difference(
            "inventory", "host VCPU", "3 of 8, units 1 to 1000 by 1", "0 of 8, units 1 to 1000 by 1"
        )
    ]
    plain = Host("host", {"VCPU": 8}, aggregates=("rack",))
    assert differences(view_of([plain, *CLOUD[1:]]), view_of(CLOUD)) == [
        Difference("trait of", "FAST", "nothing", "host"),
        Difference("traits", "host", "nothing", "FAST"),
    ]


def test_a_provider_that_is_missing_is_missing_everywhere() -> None:
    found = differences(view_of(CLOUD[:2]), view_of(CLOUD))
    assert {difference.what for difference in found} == {
        "aggregate of", "inventory", "provider", "shares with", "trait of", "traits",
    }  # fmt: skip
