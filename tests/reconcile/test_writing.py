# SPDX-License-Identifier: Apache-2.0
"""A write is tried again if Placement refuses it because another write came in between."""

from tests.reconcile.test_changes import ANSWERS, WRONG, answering
from trueup.reconcile import changes
from trueup.reconcile.steps import Change, ProviderFields, ProviderNode
from trueup.reconcile.writing import ATTEMPTS, write_change


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
    assert (outcome.result, outcome.reason) == ("refused", "answered 409")
    assert len(sent) == ATTEMPTS


def renaming(small) -> Change:
    """A provider gets another name: what the service compares no version of, we compare."""
    [row, *_] = small.call("GET", "/resource_providers").json()["resource_providers"]
    target = ProviderNode(row["uuid"])
    found = changes.read(target, small.cloud)
    return Change(target, found.state, ProviderFields("renamed"), found.version)


def test_what_we_did_not_send_was_made_by_somebody_else(small):
    change = renaming(small)
    assert write_change(change, small.cloud).result == "done"
    written = write_change(change, small.cloud)
    assert written.result == "refused"
    assert written.reason.endswith("somebody else has already made this change")


def test_what_our_write_just_before_brought_about_is_ours(small):
    change = renaming(small)
    assert write_change(change, small.cloud).result == "done"
    written = write_change(change, small.cloud, caused=True)
    assert (written.result, written.contested) == ("done", False)
