# SPDX-License-Identifier: Apache-2.0
"""Checks that several runbooks make."""

from tests.reconcile.planning import facts_of
from trueup.reconcile.runbooks.host_checks import evidence, stopped, waiting, way

TEXT = """
cell1
  host h1 VCPU=8 up
  host h2 VCPU=8
  server web on h1 VCPU=2 MEMORY_MB=256
  migration of web from h1 to h2 running
cell2 silent
cell3 last-report=1200
"""


def test_sources_that_are_silent_or_behind_are_named():
    assert [one.subject for one in evidence(facts_of(TEXT))] == ["cell2"]


def test_only_a_service_that_is_up_blocks():
    facts = facts_of(TEXT)
    [up], [down] = stopped("h1", facts), stopped("h2", facts)
    assert (up.outlook.value, down.outlook.value) == ("blocks", "ok")


def test_without_a_service_nova_compute_may_be_up():
    [check] = stopped("h2", facts_of(f"{TEXT}forget-service h2\n"))
    assert check.outlook.value == "blocks"
    assert check.then.startswith("start nova-compute on h2, which registers itself, stop it")


def test_a_service_in_other_case_is_that_of_the_host():
    [check] = stopped("H1", facts_of(TEXT))
    assert check.found == "it is up"


def test_a_move_in_words():
    [move] = facts_of(TEXT).migrations
    assert way(move).endswith("from h1 to h2: running")
    assert move.instance in waiting(move)
