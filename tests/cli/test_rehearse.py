# SPDX-License-Identifier: Apache-2.0
"""`trueup rehearse` reads the cloud, and writes to a copy only."""

from tests.cli.running import trueup


def test_a_plan_is_rehearsed_and_the_cloud_stays_as_it_is(small, plan_file):
    before = small.rows()
    ran = trueup("rehearse", plan_file, "-f", "json")
    assert ran.code == 0, ran.out + ran.err
    assert [row["Result"] for row in ran.json() if row["What"] == "step"] == ["done"] * 4
    assert "4 of 4 steps done; of the findings that the plan remedies 0 are left" in ran.err
    assert small.rows() == before


def test_a_plan_that_is_refused_is_found_before_it_is_applied(small, plan_file):
    small.change_instance("wrong-provider", task_state="migrating")
    ran = trueup("rehearse", plan_file, "-f", "json")
    assert ran.code == 3
    assert "3 of 4 steps done" in ran.err
