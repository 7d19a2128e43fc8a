# SPDX-License-Identifier: Apache-2.0
from urllib.parse import parse_qsl

import pytest

from tests.placement.client import UUID, Client
from trueup.placement.api.wire import candidates
from trueup.placement.index.filters import filters_of, text_of
from trueup.placement.why import question_of, why
from trueup.placement.why.words import verdict


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("resources=VCPU:2", "2 of 2 hosts have candidates."),
        (
            "resources=VCPU:9",
            "No host is left after resources=VCPU:9: it leaves out the last 2 of 2.",
        ),
    ],
)
def test_the_verdict(client: Client, empty_ledger, query, says):
    for number in (1, 2):
        client.make_provider(number, inventories={"VCPU": 8})
    assert verdict(why((), empty_ledger, question_of(query, None)).explanation) == says


def test_filters_are_told_as_the_query_has_them():
    query = (
        "resources=VCPU:4,DISK_GB:1&required=A,!B&required=in:C,D"
        f"&member_of=in:{UUID(7)},{UUID(8)}&member_of=!{UUID(9)}"
        f"&in_tree={UUID(1)}&root_required=E,!F&resources_A=VCPU:1&resources_B=VCPU:1"
        "&group_policy=isolate&same_subtree=_A,_B"
    )
    question = question_of(query, None)
    request = candidates.parse(parse_qsl(question.query), question.version)
    assert [text_of(one) for one in filters_of(request)] == [
        "resources=VCPU:4",
        "resources=DISK_GB:1",
        "required=A",
        "required=in:C,D",
        "required=!B",
        f"member_of=in:{UUID(7)},{UUID(8)}",
        f"member_of=!{UUID(9)}",
        f"in_tree={UUID(1)}",
        "resources_A=VCPU:1",
        "resources_B=VCPU:1",
        "root_required=E",
        "root_required=!F",
        "group_policy=isolate",
        "same_subtree=_A,_B",
    ]
