# SPDX-License-Identifier: Apache-2.0
"""An export that is cut, or is none."""

import json

import pytest

from tests.reconcile.sources.broken_server import Reply, answering, client
from trueup.reconcile.facts import JUDGED_TRAITS, Inventory, Owner
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.placement.export import read

HEAD = {"trueup_export": 1}
PROVIDER = {
    "provider": {
        "uuid": "h1", "name": "h1", "generation": 3, "root_provider_uuid": "h1",
        "parent_provider_uuid": None, "traits": [], "aggregates": [],
        "inventories": {"VCPU": {"total": 8, "reserved": 0, "allocation_ratio": 4.0,
                                 "min_unit": 1, "max_unit": 8, "step_size": 2}},
    }
}  # fmt: skip
CONSUMER = {
    "consumer": {
        "uuid": "web", "project_id": "red", "user_id": None, "consumer_type": "INSTANCE",
        "consumer_generation": 1, "allocations": {"h1": {"VCPU": 2}},
    }
}  # fmt: skip
END = {"end": {"providers": 1, "consumers": 1}}
WHOLE = (HEAD, PROVIDER, CONSUMER, END)


def lines(*documents):
    return [json.dumps(one).encode() for one in documents]


def test_a_whole_export_is_the_ledger():
    ledger = read(lines(*WHOLE))
    assert ledger.providers["h1"].inventories == {"VCPU": Inventory(8, 0, 4.0, 1, 8, 2)}
    assert ledger.consumers == {"web": {"h1": {"VCPU": 2}}}
    assert ledger.owners == {"web": Owner("red", "")}
    assert ledger.read_via == "export"


def test_usage_that_no_consumer_explains_is_a_fault():
    unlisted = {"unlisted": {"provider": "h1", "resource_class": "VCPU", "amount": 3}}
    [fault] = read(lines(HEAD, PROVIDER, CONSUMER, unlisted, END)).faults
    assert (fault.kind, fault.subject, fault.resource_class, fault.amount) == (
        "consumerless", "h1", "VCPU", 3,
    )  # fmt: skip
    assert read(lines(*WHOLE)).faults == ()


def test_lines_of_a_newer_service_are_not_needed():
    assert read(lines(HEAD, PROVIDER, {"news": {"a": 1}}, CONSUMER, END)) == read(lines(*WHOLE))


@pytest.mark.parametrize(
    "documents",
    [(), WHOLE[:1], WHOLE[:-1], (HEAD, PROVIDER, END), (HEAD, CONSUMER, END)],
)
def test_an_export_that_was_cut_is_no_ledger(documents):
    with pytest.raises(Unreachable) as silent:
        read(lines(*documents))
    assert silent.value.reason == "its export ended early"


@pytest.mark.parametrize(
    "document", [[], 7, {"provider": {"uuid": "h1"}}, {"end": 7}, {"trueup_export": "x"}]
)
def test_what_is_no_export_is_refused(document):
    with pytest.raises(Unreachable) as silent:
        read(lines(HEAD, document, END))
    assert silent.value.reason.startswith("its export is not one")


def test_another_form_is_not_guessed_at():
    with pytest.raises(Unreachable) as silent:
        read(lines({"trueup_export": 2}, END))
    assert silent.value.reason == "its export has form 2"


def test_text_that_is_no_json_is_no_export():
    with pytest.raises(Unreachable):
        read([b"<html>"])


@pytest.mark.parametrize("status", [401, 403, 404, 405, 406, 500, 503])
def test_a_service_that_does_not_offer_it_is_asked_in_the_usual_way(status):
    none = Reply(200, {"resource_providers": []})
    replies = {
        "GET /": Reply(200, {"versions": [{"max_version": "1.39"}]}),
        "GET /trueup/export": Reply(status),
        "GET /resource_providers": none,
        "GET /resource_providers?required=MISC_SHARES_VIA_AGGREGATE": none,
        # A Placement that does not know a trait refuses to look for it.
        **{f"GET /resource_providers?required={one}": Reply(400) for one in JUDGED_TRAITS},
    }
    with answering(replies) as url:
        assert client(url).ledger(lambda *_: None).read_via == "API"
