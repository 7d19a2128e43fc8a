# SPDX-License-Identifier: Apache-2.0
"""`trueup verify` says what became of what a run repaired, and writes nothing."""

import pytest

from tests.cli.running import trueup
from trueup.reconcile.plan.plan_file import load

ORPHAN = "orphaned-allocation"


@pytest.fixture
def run(small, plan_file) -> str:
    """The name of a run that is finished, and that nobody verified."""
    assert trueup("apply", plan_file, "--no-verify").code == 0
    return f"{load(plan_file).id}-1"


def states(ran) -> dict[str, str]:
    """The state of the finding of each defect."""
    return {row["Finding"].partition(":")[0]: row["State"] for row in ran.json()}


def test_what_stays_repaired_is_gone(small, run):
    before = small.rows()
    ran = trueup("verify", run, "-f", "json")
    assert ran.code == 0
    assert [*states(ran).values()] == ["gone"] * len(small.planted)
    assert small.rows() == before


def test_what_somebody_wrote_again_has_come_back(small, plan_file):
    consumer = small.consumer(ORPHAN)
    held = small.holding(consumer)
    trueup("apply", plan_file)
    held |= {"consumer_generation": None, "consumer_type": "INSTANCE"}
    assert small.call("PUT", f"/allocations/{consumer}", held, minor=38).ok
    ran = trueup("verify", f"{load(plan_file).id}-1", "-f", "json")
    assert ran.code == 3
    found = states(ran)
    assert found.pop(ORPHAN) == "come back"
    assert set(found.values()) == {"gone"}


def test_a_cell_that_is_silent_leaves_it_open(small, run):
    cell = small.folder / "nova_cell2.sqlite"
    cell.rename(cell.with_suffix(".away"))
    ran = trueup("verify", run, "-f", "json")
    assert ran.code == 5
    assert "not judged" in states(ran).values()
    assert all(row["Reason"] for row in ran.json() if row["State"] == "not judged")


def test_what_was_taken_back_is_not_read(small, run):
    trueup("undo", run, "--step", "1")
    ran = trueup("verify", run, "-f", "json")
    assert ran.code == 0
    assert len(ran.json()) == len(small.planted) - 1
    assert "1 finding of its plan not read again" in ran.err


def test_an_undo_has_repaired_nothing(small, run):
    trueup("undo", run)
    undo = trueup("journal", "-f", "json").json()[-1]["Run"]
    ran = trueup("verify", undo)
    assert ran.code == 2
    assert f"run {undo} took run {run} back" in ran.err


def test_an_unknown_run_is_refused(small):
    assert trueup("verify", "no-such-run").code == 2
