# SPDX-License-Identifier: Apache-2.0
"""A guard is shown as the sentence that must still be true, for every kind of guard."""

from datetime import datetime
from typing import get_args

import pytest

from tests.reconcile.steps.test_steps import CHANGES, GUARDS
from trueup.reconcile.facts import InstanceState
from trueup.reconcile.report.guards import guard_in_words
from trueup.reconcile.steps import Guard, NodeGone, VersionIs

SENTENCES = (
    "instance i is on host h1, active, without a task, not deleted, not moving",
    "migration m of instance i has the status error",
    "nobody has written the traits of provider p since the plan was made",
    "the nova-compute of h1 does not report, or is forced down",
    "some service of cell cell has reported within the last 60 s",
    "the hypervisor of h1 has no domain i",
    "the compute service of h1 is disabled",
    "host h1 is in these host aggregates and no other: x",
    "no provider shares by one of these aggregates: x",
    "host h1 has compute node n",
    "no cell has a compute node n or one named h1, and host h1 has no compute service",
    "no instance is on host h1, and no migration is under way from or to it",
    "no network agent of host h1 is alive",
    "no cell has an instance or a migration i, and it has no build request",
)


def test_the_samples_have_every_kind_of_guard():
    assert {type(guard) for guard in GUARDS} == set(get_args(Guard))


@pytest.mark.parametrize(("guard", "sentence"), list(zip(GUARDS, SENTENCES, strict=True)))
def test_every_guard_is_a_sentence(guard, sentence):
    assert guard_in_words(guard, {}) == sentence


def test_a_node_that_must_be_gone_whatever_is_called_like_it():
    assert guard_in_words(NodeGone("n", "", "cell", ""), {}) == "no cell has a compute node n"


def test_a_deleted_instance_that_was_on_no_host():
    when = datetime(2026, 11, 21, 9, 30)
    guard = InstanceState("cell", "i", None, None, None, "deleting", True, True, when)
    assert guard_in_words(guard, {}) == (
        "instance i is on no host, in the task deleting, deleted, moving, "
        "last updated at 2026-11-21 09:30:00 UTC"
    )


@pytest.mark.parametrize("kind", CHANGES)
def test_the_version_of_every_kind_of_target(kind):
    shown = guard_in_words(VersionIs(CHANGES[kind][0], {"p": 3}), {})
    assert shown.startswith("nobody has written the ") or kind == "provider"
    assert shown.endswith(" since the plan was made")
