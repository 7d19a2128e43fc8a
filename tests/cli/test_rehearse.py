# SPDX-License-Identifier: Apache-2.0
"""`trueup rehearse` reads the cloud, and writes to a copy only."""

from tests.cli.running import trueup
from trueup.reconcile.plan_file import load


def test_a_plan_is_rehearsed_and_the_cloud_stays_as_it_is(small, plan_file):
    before = small.rows()
    ran = trueup("rehearse", plan_file, "-f", "json")
    assert ran.code == 0, ran.out + ran.err
    number = len(load(plan_file).steps)
    assert [row["Result"] for row in ran.json() if row["What"] == "step"] == ["done"] * number
    reported = "of the findings that the plan remedies, left: 0; new: 0."
    assert f"{number} of {number} steps done; {reported}" in ran.err
    assert small.rows() == before


def test_a_plan_that_is_refused_is_found_before_it_is_applied(small, plan_file):
    small.change_instance("wrong-provider", task_state="migrating")
    ran = trueup("rehearse", plan_file, "-f", "json")
    assert ran.code == 3
    number = len(load(plan_file).steps)
    assert f"{number - 1} of {number} steps done" in ran.err


def test_a_ledger_that_cannot_be_copied_is_said(small, plan_file):
    """An allocation of a class that its provider has no inventory of: Placement takes none."""
    small.sql("placement", "DELETE FROM inventories WHERE resource_class_id = 2")
    ran = trueup("rehearse", plan_file)
    assert ran.code == 5
    assert "the ledger cannot be copied for a rehearsal: an empty Placement refuses" in ran.err
    assert "refuses allocations " in ran.err
