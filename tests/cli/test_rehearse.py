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
    assert (
        f"{number} of {number} steps done; of the findings that the plan remedies 0 are" in ran.err
    )
    assert small.rows() == before


def test_a_plan_that_is_refused_is_found_before_it_is_applied(small, plan_file):
    small.change_instance("wrong-provider", task_state="migrating")
    ran = trueup("rehearse", plan_file, "-f", "json")
    assert ran.code == 3
    number = len(load(plan_file).steps)
    assert f"{number - 1} of {number} steps done" in ran.err
