# SPDX-License-Identifier: Apache-2.0
"""Policies as commands obey them; what they say of a step: tests/reconcile/plan."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.cli.on_terminal import at_a_terminal
from tests.cli.running import Ran, trueup
from tests.cli.signers import Signers
from trueup.cli.commands import apply
from trueup.reconcile.plan.plan_file import load
from trueup.reconcile.plan.rulings import WritesClosed
from trueup.reconcile.reasons import because
from trueup.reconcile.runs.journals import runs
from trueup.reconcile.runs.pace import Throttle

ORPHANS = '[[rule]]\nname = "orphans"\ndecision = "{}"\ndefects = ["orphaned-allocation"]\n'
FROZEN = "[[freeze]]\nfrom = 2000-01-01T00:00:00Z\nto = 2999-01-01T00:00:00Z\n"


@pytest.fixture
def policy(tmp_path) -> Callable[[str], Path]:
    path = tmp_path / "policy.toml"

    def write(text: str) -> Path:
        path.write_text(text)
        return path

    return write


def refused(ran: Ran, small, before) -> str:
    assert ran.code == 2, ran.err
    assert small.rows() == before
    return ran.err


def test_a_plan_has_only_what_may_be_written_and_says_which_rule_decides(
    small, nova_conf, tmp_path, policy
):
    path, named = tmp_path / "plan.json", ("--policy", policy(ORPHANS.format("automatic")))
    ran = trueup("plan", "--interval", 0.01, "--out", path, *named, "-f", "json")
    assert [row["Because"] for row in ran.json()] == ["orphaned-allocation"]
    assert "default of" in ran.err
    [ruling] = load(path).rulings.values()
    assert (ruling.decision, ruling.rule) == ("automatic", "rule 1 (orphans)")
    shown = trueup("policy", "show", path, *named, "-f", "json").json()
    assert [(row["Decision"], row["Rule"]) for row in shown] == [("automatic", "rule 1 (orphans)")]
    assert "policy: automatic, by rule 1 (orphans)" in trueup("plan", "show", path).out
    assert trueup("apply", path, *named).code == 0


def test_what_is_never_permitted_is_refused_by_its_rule(small, plan_file, policy):
    before, named = small.rows(), ("--policy", policy(ORPHANS.format("never")))
    assert trueup("policy", "show", plan_file, *named).code == 3
    assert "never permits step" in refused(trueup("apply", plan_file, *named), small, before)


def test_a_part_that_is_permitted_is_applied(plan_file, policy, state):
    named = ("--policy", policy(ORPHANS.format("automatic")))
    ran = trueup("apply", plan_file, *named, "--only", "orphaned-allocation")
    assert ran.code == 0, ran.err


def test_a_part_of_a_plan_is_no_smaller_plan(small, plan_file, policy):
    text = ORPHANS.format("automatic") + "subjects_max = 1\n"
    words = ("--policy", policy(text), "--only", "orphaned-allocation")
    before = small.rows()
    assert "default of" in refused(trueup("apply", plan_file, *words), small, before)


def test_a_person_is_asked_and_no_option_answers(small, plan_file, policy):
    named, before = ("--policy", policy('default = "ask"')), small.rows()
    for words in ((), ("--yes",)):
        said = refused(trueup("apply", plan_file, *named, *words), small, before)
        assert "default of the policy" in said
    code, shown = at_a_terminal("apply", plan_file, *named, typed="y\n")
    assert code == 0, shown


def test_one_step_that_needs_an_approval_makes_the_plan_need_it(small, plan_file, policy, tmp_path):
    signers, before = Signers(tmp_path), small.rows()
    text = f'default = "automatic"\n{ORPHANS.format("approval")}approvals = 2\n'
    text += f'[approval]\nsigners = "{signers.allowed}"\n'
    named = ("--policy", policy(text))
    said = refused(trueup("apply", plan_file, *named), small, before)
    assert "needs the approval of 2 other persons" in said
    for name in ("alice", "bob"):
        trueup("approve", plan_file, "--key", signers.key(name))
    assert trueup("apply", plan_file, *named).code == 0


def test_nothing_is_written_in_a_freeze(small, plan_file, policy, state):
    before, named = small.rows(), ("--policy", policy(FROZEN))
    assert "nothing is written until 2999-01-01 00:00 UTC" in refused(
        trueup("apply", plan_file, *named), small, before
    )
    assert runs(state) == (), "no run has begun"
    assert "is closed now" in trueup("policy", "check", policy(FROZEN)).err


def test_a_window_that_closes_stops_the_run_between_two_steps(plan_file, monkeypatch):
    asked = []

    def refuse_closed(policies, moment) -> None:
        asked.append(moment)
        if len(asked) == 3:
            raise WritesClosed("policy.toml", because("policy-window", windows=("mon",)))

    monkeypatch.setattr(apply, "refuse_closed", refuse_closed)
    ran = trueup("apply", plan_file, "--rate", 1000)
    assert ran.code == 2
    assert "1 of 4 steps attempted" in ran.err


def test_a_policy_that_is_changed_stops_the_run_between_two_steps(
    small, plan_file, policy, monkeypatch, state
):
    path = policy('default = "automatic"')
    told = Throttle.turn

    def turn(throttle: Throttle) -> AbstractContextManager[None]:
        policy('default = "never"')
        return told(throttle)

    monkeypatch.setattr(Throttle, "turn", turn)
    ran = trueup("apply", plan_file, "--policy", path, "--rate", 1000)
    assert (ran.code, "was changed during the run" in ran.err) == (2, True), ran.err
    assert "1 of 4 steps attempted" in ran.err
    before = small.rows()
    said = refused(trueup("apply", plan_file, "--policy", path), small, before)
    assert "never permits step" in said


def test_a_policy_that_is_not_there_is_to_be_made(policy, tmp_path):
    ran = trueup("policy", "check", tmp_path / "none.toml")
    assert (ran.code, "Correct it" in ran.err) == (2, False)
    assert f"Make it, then check it with 'trueup policy check {tmp_path}/none" in ran.err
    assert "Correct it, then" in trueup("policy", "check", policy("default = 1")).err


def test_check_shows_the_rules_and_names_what_is_wrong(policy):
    rule, approval = ORPHANS.format("ask"), "[approval]\nrequired = 2\nsigners = 'nowhere'\n"
    text = rule + approval
    ran = trueup("policy", "check", policy(text), "-f", "json")
    assert ran.code == 0
    assert [(row["Rule"], row["Decision"]) for row in ran.json()] == [
        ("1", "ask"),
        ("default", "never"),
    ]
    assert "approval of 2 persons" in ran.err
    assert "nowhere cannot be read, which [approval] names as signers" in ran.err
    ran = trueup("policy", "check", policy(rule + text))
    assert (ran.code, "Correct this: rule 2 is never asked" in ran.err) == (3, True)
    ran = trueup("policy", "check", policy('default = "perhaps"'))
    assert (ran.code, "perhaps" in ran.err) == (2, True)


def test_without_a_policy_nothing_is_decided(plan_file):
    ran = trueup("policy", "show", plan_file, "-f", "json")
    assert {row["Decision"] for row in ran.json()} == {""}
    assert "No policy is in force" in ran.err
