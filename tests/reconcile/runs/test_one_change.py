# SPDX-License-Identifier: Apache-2.0
"""A write is tried again if Placement refuses it because another write came in between."""

from typing import Any

import pytest

from tests.reconcile.test_changes import ANSWERS, WRONG, answering
from trueup.reconcile import changes
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.runs.one_change import ATTEMPTS, write_change
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.steps import (
    Aggregates,
    AggregatesOf,
    Change,
    ProviderContents,
    ProviderFields,
    ProviderNode,
    Traits,
    TraitsOf,
    WholeProvider,
)


def test_what_came_in_between_is_tried_again(small, monkeypatch):
    """Upstream answers so when the provider moved while it wrote: on a busy host, often."""
    plan = small.plan(WRONG)
    sent = answering(monkeypatch, False, ANSWERS["409"], times=3)
    [outcome] = small.apply(plan).values()
    assert outcome.result == "done"
    assert len(sent) == 4


def test_a_conflict_that_does_not_end_is_refused(small, monkeypatch):
    plan = small.plan(WRONG)
    sent = answering(monkeypatch, False, ANSWERS["409"], times=100)
    [outcome] = small.apply(plan).values()
    assert (outcome.result, in_words(outcome.reason)) == ("refused", "answered 409")
    assert len(sent) == ATTEMPTS


def renaming(small) -> Change:
    """A provider gets another name: what the service compares no version of, we compare."""
    [row, *_] = small.call("GET", "/resource_providers").json()["resource_providers"]
    target = ProviderNode(row["uuid"])
    found = changes.read(target, small.cloud)
    return Change(target, found.state, ProviderFields("renamed"), found.version)


def of_parts(small) -> dict[str, Change]:
    """Every kind of change of a provider alone, with something that it does not have yet."""
    node = renaming(small)
    one = node.target.provider
    after = {
        TraitsOf(one): Traits(("CUSTOM_OTHER", "OWNER_NOVA")),
        AggregatesOf(one): Aggregates(("71111111-2222-4333-8444-555555555555",)),
    }
    found = {target: changes.read(target, small.cloud) for target in after}
    made = {
        type(target).__name__: Change(target, row.state, after[target], row.version)
        for target, row in found.items()
    }
    return {**made, "ProviderNode": node, "WholeProvider": making(small)}


@pytest.mark.parametrize("kind", ["TraitsOf", "AggregatesOf", "ProviderNode", "WholeProvider"])
@pytest.mark.parametrize("answer", ["500", "503", "lost"])
def test_where_a_part_is_written_a_service_that_says_nothing_is_asked_again(
    small, monkeypatch, kind, answer
):
    """Both parts of a step or neither: the part is read again, and written if it is not there."""
    change = of_parts(small)[kind]
    assert small.call("PUT", "/traits/CUSTOM_OTHER").ok
    answering(monkeypatch, False, ANSWERS[answer])
    assert write_change(change, small.cloud, insist=True).result == "done"
    assert changes.read(change.target, small.cloud).state == change.after


def test_what_we_did_not_send_was_made_by_somebody_else(small):
    change = renaming(small)
    assert write_change(change, small.cloud).result == "done"
    written = write_change(change, small.cloud)
    assert written.result == "refused"
    assert in_words(written.reason).endswith("another client has already made this change")


def making(small) -> Change:
    """A provider is made with a trait and an aggregate."""
    target = WholeProvider("71111111-2222-4333-8444-555555555555")
    contents = ProviderContents("made", None, {}, ("OWNER_NOVA",), (target.provider,))
    return Change(target, None, contents, {target.provider: None})


def test_a_provider_that_silence_left_half_made_is_deleted(small, monkeypatch):
    """Nothing tells whose it is later, and its name would stay taken."""
    change, send = making(small), small.cloud.placement.send

    def cut(method: str, path: str, *rest: Any) -> Any:
        if method == "PUT" and path.endswith("/traits"):
            raise Unreachable("Placement", "the connection was cut")
        return send(method, path, *rest)

    monkeypatch.setattr(small.cloud.placement, "send", cut)
    assert write_change(change, small.cloud).result == "unknown"
    assert changes.read(change.target, small.cloud).state is None


@pytest.mark.parametrize("traits", [["OWNER_NOVA", "CUSTOM_OTHER"], ["COMPUTE_NODE"]])
def test_a_provider_that_somebody_else_makes_is_not_tidied(small, traits):
    change = making(small)
    uuid = change.target.provider
    body = {"name": "made", "uuid": uuid}
    assert small.call("POST", "/resource_providers", body).status_code == 200
    assert small.call("PUT", "/traits/CUSTOM_OTHER").status_code < 300
    body = {"resource_provider_generation": 0, "traits": traits}
    assert small.call("PUT", f"/resource_providers/{uuid}/traits", body).status_code == 200
    changes.tidy(change, small.cloud)
    assert changes.read(change.target, small.cloud).state.name == "made"


def test_what_our_write_just_before_brought_about_is_ours(small):
    change = renaming(small)
    assert write_change(change, small.cloud).result == "done"
    written = write_change(change, small.cloud, caused=True)
    assert (written.result, written.contested) == ("done", False)
