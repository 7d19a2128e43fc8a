# SPDX-License-Identifier: Apache-2.0
"""What policies say of the steps of a plan: the strictest of all that a step does."""

from datetime import datetime

import pytest

from tests.reconcile.plan.policies import in_force
from tests.reconcile.planning import planned
from trueup.reconcile.plan.rulings import (
    StepForbidden,
    WritesClosed,
    obeying,
    permitted,
    refuse_closed,
    rulings_of,
)
from trueup.reconcile.report.diff import plan_diff
from trueup.reconcile.report.reasons import in_words

# A release on h1, an addition on h1, and a move from h2 to h1.
PLAN = planned()
RELEASE, ADDITION, MOVE = (step.id for step in PLAN.steps)


def decided(*texts: str) -> dict[str, tuple[str, str]]:
    """The decision and the rule of each step."""
    rulings = rulings_of(PLAN, in_force(*texts))
    return {step: (ruling.decision, ruling.rule) for step, ruling in rulings.items()}


def rule(decision: str, conditions: str = "") -> str:
    return f'[[rule]]\ndecision = "{decision}"\n{conditions}\n'


def test_the_first_rule_that_fits_decides_and_else_the_default():
    releases = rule("automatic", 'name = "untidy"\ndefects = ["orphaned-allocation"]')
    adds = rule("ask", 'directions = ["adds"]')
    assert decided(releases + adds + rule("automatic", 'severities = ["low"]')) == {
        RELEASE: ("automatic", "rule 1 (untidy)"),
        ADDITION: ("ask", "rule 2"),
        MOVE: ("never", "default"),
    }


def test_a_step_on_two_hosts_needs_leave_for_both():
    """Of the strictest: neither order of the rules makes it wider."""
    first, second = rule("automatic", 'hosts = ["h1"]'), rule("approval", 'hosts = ["h2"]')
    for text in (first + second, second + first):
        found = decided(text)
        assert found[MOVE][0] == "approval"
        assert found[ADDITION][0] == "automatic"
    assert decided(first)[MOVE] == ("never", "default")


@pytest.mark.parametrize(
    "condition",
    ['cells = ["cell1"]', 'projects = ["a-project"]', 'hosts = ["h?"]', "subjects_max = 3"],
)
def test_each_condition_is_about_what_a_step_does(condition):
    assert {one for one, _ in decided(rule("ask", condition)).values()} == {"ask"}


@pytest.mark.parametrize(
    "condition",
    ['cells = ["cell2"]', 'projects = ["b"]', 'hosts = ["h"]', "subjects_max = 2"],
)
def test_a_condition_that_does_not_fit_leaves_it_to_the_default(condition):
    text = f'default = "automatic"\n{rule("ask", condition)}'
    assert {one for one, _ in decided(text).values()} == {"automatic"}


def test_a_rule_that_is_passed_over_only_for_the_size_is_named_with_the_numbers():
    small = rule("automatic", 'name = "few"\nsubjects_max = 2')
    for text, passed in ((small, 3), (rule("automatic", 'cells = ["b"]\nsubjects_max = 2'), 0)):
        for ruling in rulings_of(PLAN, in_force(text)).values():
            fields = ruling.passed_over.fields if ruling.passed_over else {"subjects": 0}
            assert (ruling.rule, fields["subjects"]) == ("default", passed)
    [declined, *_] = obeying(PLAN, in_force(small)).declined
    words = "default of 1.toml never permits it: the plan changes 3 subjects, and rule 1 (few) has"
    assert in_words(declined.reason) == f"{words} subjects_max = 2"


def test_of_two_policies_the_stricter_one_decides():
    wide = rule("automatic")
    for texts in ((wide, rule("ask")), (rule("ask"), wide)):
        assert {one for one, _ in decided(*texts).values()} == {"ask"}
    one, three = (f"{rule('approval')}approvals = {number}\n" for number in (1, 3))
    rulings = rulings_of(PLAN, in_force(three, one))
    assert {ruling.approvals for ruling in rulings.values()} == {3}


def test_a_policy_without_rules_and_default_decides_nothing():
    assert decided("[approval]\nrequired = 1\n") == {}
    assert {one for one, _ in decided('default = "ask"').values()} == {"ask"}


def test_a_plan_leaves_out_what_is_never_permitted_and_says_which_rule():
    text = 'default = "ask"\n' + rule("never", 'hosts = ["h2"]')
    plan = obeying(PLAN, in_force(text))
    assert [step.id for step in plan.steps] == [RELEASE, ADDITION] == [*plan.rulings]
    [declined] = plan.declined
    assert declined.reason.fields == {"rule": "rule 1", "policy": "1.toml"}
    lines = [line.text for line in plan_diff(plan)]
    assert lines.count("  policy: ask, by default of 1.toml") == 2


def test_what_is_never_permitted_is_refused_by_name():
    with pytest.raises(StepForbidden) as raised:
        permitted(PLAN, rulings_of(PLAN, in_force(rule("never", 'directions = ["adds"]'))))
    assert raised.value.step == RELEASE, "the default is never"


def test_one_closed_policy_closes():
    frozen = "[[freeze]]\nfrom = 2026-12-20T00:00:00\nto = 2027-01-06T00:00:00\n"
    policies = in_force("", frozen)
    refuse_closed(policies, datetime(2026, 12, 1))
    with pytest.raises(WritesClosed):
        refuse_closed(policies, datetime(2026, 12, 24))
