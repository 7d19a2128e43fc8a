# SPDX-License-Identifier: Apache-2.0
"""Parts of a policy that never have an effect are named; those that have one are not."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.reconcile.plan.policies import policy
from trueup.reconcile.plan.policy import Case, Policy, Rule
from trueup.reconcile.plan.policy_faults import faults_of


def faults(text: str) -> list[str]:
    return [reason.name for reason in faults_of(policy(text))]


ORPHANS = '[[rule]]\ndecision = "automatic"\ndefects = ["orphaned-allocation"]\n'
OTHERS = '[[rule]]\ndecision = "automatic"\ndefects = ["ghost-domain"]\n'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        (ORPHANS + OTHERS, []),
        (f'{ORPHANS}[[rule]]\ndecision = "ask"\n{ORPHANS}', ["policy-rule-hidden"]),
        (f"{ORPHANS}subjects_max = 5\n{ORPHANS}", []),
        (f"{ORPHANS}{ORPHANS}subjects_max = 5\n", ["policy-rule-hidden"]),
        (f"{ORPHANS}approvals = 2\n", ["policy-approvals-unused"]),
        ("default = 'ask'\ndefault_approvals = 2\n", ["policy-default-approvals-unused"]),
        (f"{ORPHANS}[automatic]\n", []),
        ("default = 'automatic'\n[automatic]\n", []),
        (f"{OTHERS}[automatic]\n", ["policy-automatic-unused"]),
        (f"{ORPHANS}[automatic]\n[approval]\nrequired = 1\n", ["policy-automatic-approved"]),
    ],
)
def test_what_has_no_effect_is_named(text, found):
    assert faults(text) == found


names = ("a", "ab", "b", "ba")
patterns = some.lists(some.sampled_from((*names, "*", "a*", "?", "a?", "[ab]", "*b")), max_size=2)
rules = some.builds(
    Rule,
    decision=some.just("ask"),
    defects=some.sets(some.sampled_from(("wrong-owner", "wrong-amount"))).map(tuple),
    directions=some.sets(some.sampled_from(("adds", "releases"))).map(tuple),
    hosts=patterns.map(tuple),
    subjects_max=some.none() | some.integers(1, 3),
)


@given(earlier=rules, later=rules)
def test_a_rule_that_is_called_hidden_decides_nothing(earlier, later):
    """The oracle tries every case."""
    if not list(faults_of(Policy(rules=(earlier, later)))):
        return
    for defect, host, direction, subjects in product(
        ("wrong-owner", "wrong-amount"), (*names, None), ("adds", "releases", "other"), range(1, 5)
    ):
        case = Case(defect, None, None, host, None, direction, subjects)
        assert earlier.fits(case) or not later.fits(case)
