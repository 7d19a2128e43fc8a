# SPDX-License-Identifier: Apache-2.0
"""`trueup plan show` shows a file; it needs no cloud."""

import pytest

from tests.cli.running import trueup
from tests.reconcile.planning import planned
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.plan.plan_file import save


@pytest.fixture
def path(tmp_path):
    save(planned(), tmp_path / "plan.json")
    return tmp_path / "plan.json"


def test_a_plan_is_a_diff_in_plain_text_in_a_pipe(path):
    ran = trueup("plan", "show", path)
    assert ran.code == 0
    assert "\x1b" not in ran.out
    lines = ran.out.splitlines()
    assert lines[0] == f"plan {planned().id}"
    assert "3 steps for 3 findings, 3 subjects of at most 25, 0 declined" in ran.out
    assert f"step 1: old {uuid_of('old')}" in lines
    assert "  - h1: VCPU=2 MEMORY_MB=256 DISK_GB=6" in lines
    assert "  + h1: VCPU=1 MEMORY_MB=128" in lines
    assert "  h1: VCPU used 2 -> 0 of 8" in lines


def test_no_uuid_is_broken_in_two(path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    ran = trueup("plan", "show", path)
    for step in planned().steps:
        assert step.consumers[0] in ran.out


def test_programs_get_the_table(path):
    rows = trueup("plan", "show", path, "-f", "json").json()
    assert [row["Step"] for row in rows] == [1, 2, 3]
    assert rows[0]["Before"] == {"h1": "VCPU=2 MEMORY_MB=256 DISK_GB=6"}
    values = trueup("plan", "show", path, "-f", "value", "-c", "Because").out.splitlines()
    assert values[0] == "orphaned-allocation"


def test_who_sorts_gets_the_table(path):
    lines = trueup("plan", "show", path, "--sort-column", "Because").out.splitlines()
    assert "| Step |" in lines[1]


def test_what_is_no_plan_is_refused(tmp_path):
    ran = trueup("plan", "show", tmp_path / "none")
    assert (ran.code, ran.out) == (2, "")
    assert "No such file" in ran.err
