# SPDX-License-Identifier: Apache-2.0
"""`trueup rehearse` reads the cloud, and writes to a copy only."""

import pytest

from tests.cli.running import trueup
from trueup.reconcile.plan.plan_file import load


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


def test_a_class_without_an_inventory_cannot_be_given_back(small, nova_conf, tmp_path):
    """It is said with the plan, before anything is written."""
    consumer, path = small.consumer("orphaned-allocation"), tmp_path / "plan.json"
    small.sql("placement", "DELETE FROM inventories WHERE resource_class_id = 2")
    planned = trueup("plan", "--interval", 0.01, "--out", path)
    number = 1 + [step.consumers for step in load(path).steps].index((consumer,))
    [words] = [row for row in planned.err.splitlines() if row.startswith(f"Step {number} cannot ")]
    assert f"{consumer} holds DISK_GB=" in words
    assert words.endswith(
        "which has no inventory of that class, so Placement would refuse the amount."
    )
    assert trueup("apply", path).code in (0, 4)
    undone = trueup("undo", load(path).id, "-f", "json")
    [refused] = [row for row in undone.json() if row["Subject"] == consumer]
    assert refused["Result"] == "refused"


@pytest.mark.parametrize("amount", [0, -3])
def test_a_ledger_with_an_amount_below_one_is_not_rehearsed(small, nova_conf, tmp_path, amount):
    """Somebody has changed a row by hand: over its API Placement takes no such amount."""
    consumer = small.consumer("wrong-provider")
    small.sql(
        "placement",
        "UPDATE allocations SET used = ? WHERE consumer_id = ? AND resource_class_id = 0",
        amount,
        consumer,
    )
    path = tmp_path / "plan.json"
    planned = trueup("plan", "--interval", 0.01, "--out", path)
    assert planned.code == 3
    ran = trueup("rehearse", path, "-f", "json")
    assert ran.code == 5
    assert f"consumer {consumer}: it holds VCPU={amount}, and Placement takes no such" in ran.err
    assert trueup("apply", path).code == 0
    undone = trueup("undo", load(path).id, "-f", "json")
    assert undone.code == 4
    [refused] = [row for row in undone.json() if row["Result"] == "refused"]
    assert refused["Subject"] == consumer
    assert "less than the minimum" in refused["Reason"]
