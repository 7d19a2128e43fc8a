# SPDX-License-Identifier: Apache-2.0
"""Documents of Placement's API as facts. Whole answers: test_placement.py."""

import pytest

from trueup.reconcile.facts import Holding
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.placement import documents

PROVIDER = {"uuid": "p", "name": "n", "generation": 1, "parent_provider_uuid": None}


def test_what_lacks_a_root_is_not_listed():
    rows = [PROVIDER | {"root_provider_uuid": root} for root in ("p", None)]
    assert [one.root for one in documents.providers({"resource_providers": rows})] == ["p"]


def test_who_holds_nothing_has_no_generation():
    assert documents.holding({"allocations": {}}) == Holding(None, None)


def test_a_consumer_of_no_type_has_none():
    held = {"allocations": {"p": {"resources": {"VCPU": 1}}}, "project_id": "p", "user_id": "u"}
    held |= {"consumer_generation": 2}
    for kind, expected in (("unknown", None), ("INSTANCE", "INSTANCE")):
        found = documents.holding(held | {"consumer_type": kind})
        assert (found.allocations.consumer_type, found.generation) == (expected, 2)


@pytest.mark.parametrize(
    "parse",
    [
        documents.providers,
        documents.inventories,
        documents.allocations,
        documents.aggregates,
        documents.holding,
    ],
)
@pytest.mark.parametrize("document", [None, [], {}, "text", {"allocations": [1]}])
def test_what_is_no_document_of_placement_is_no_answer(parse, document):
    with pytest.raises(Unreachable):
        parse(document)
