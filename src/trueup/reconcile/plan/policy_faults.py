# SPDX-License-Identifier: Apache-2.0
"""What in a policy can never have an effect: somebody meant something else. Pure."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from trueup.reconcile.plan.automatic import PROOFS
from trueup.reconcile.plan.policy import Names, Policy, Rule
from trueup.reconcile.reasons import Reason, because


def faults_of(policy: Policy) -> Iterator[Reason]:
    """Each part that has no effect."""
    rules = policy.rules
    for number, rule in enumerate(rules, 1):
        hiding = (at for at, earlier in enumerate(rules[: number - 1], 1) if _hides(earlier, rule))
        if by := next(hiding, 0):
            yield because("policy-rule-hidden", rule=number, by=by)
        if rule.approvals > 1 and rule.decision != "approval":
            yield because("policy-approvals-unused", rule=number, decision=rule.decision)
    if policy.default_approvals > 1 and policy.default != "approval":
        yield because("policy-default-approvals-unused")
    if policy.automatic:
        yield from _unused_budget(policy)


def _unused_budget(policy: Policy) -> Iterator[Reason]:
    """Why nothing is repaired without a person, although there is a budget for it."""
    if persons := policy.approval.required:
        yield because("policy-automatic-approved", persons=persons)
    elif policy.default != "automatic" and not any(map(_lets_repair, policy.rules)):
        yield because("policy-automatic-unused", defects=tuple(PROOFS))


def _lets_repair(rule: Rule) -> bool:
    proven = not rule.defects or not PROOFS.keys().isdisjoint(rule.defects)
    return rule.decision == "automatic" and proven


def _hides(earlier: Rule, later: Rule) -> bool:
    """Whether the earlier rule fits everything that the later one does."""
    most = earlier.subjects_max
    return (
        _within(later.defects, earlier.defects)
        and _within(later.severities, earlier.severities)
        and _within(later.directions, earlier.directions)
        and (most is None or (later.subjects_max is not None and later.subjects_max <= most))
        and _matched(later.cells, earlier.cells)
        and _matched(later.hosts, earlier.hosts)
        and _matched(later.projects, earlier.projects)
    )


def _within(few: tuple[str, ...], many: tuple[str, ...]) -> bool:
    return not many or (bool(few) and set(few) <= set(many))


def _matched(few: Names, many: Names) -> bool:
    """Whether the patterns `many` match every name that one of `few` matches, as far as is sure."""
    return not many or (bool(few) and all(any(_matches(name, by) for by in many) for name in few))


def _matches(pattern: str, by: str) -> bool:
    # A pattern with nothing but * matches another pattern as it would a name.
    return pattern == by or (not set("?[]") & set(by) and fnmatchcase(pattern, by))
