# SPDX-License-Identifier: Apache-2.0
"""The invariants of reconcile, each held in every cloud that clouds.py can make."""

from dataclasses import replace

from hypothesis import given, settings

from tests.properties.clouds import drafts
from tests.reconcile.observing import held, plan_of
from tests.scenarios.drafting import Draft, uuid_of
from trueup.reconcile.audit import audit
from trueup.reconcile.facts import Facts, Holding
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.plan import Plan
from trueup.reconcile.residence import InMotion, residence
from trueup.reconcile.steps import Step, gains

MANY = settings(max_examples=150, deadline=None, derandomize=True)


def planned(facts: Facts) -> Plan:
    return plan_of(facts)


def losses(step: Step) -> tuple[str, ...]:
    before, after = held(step)
    return gains(after, before)


def applied(facts: Facts, plan: Plan) -> Facts:
    """The facts after every step of a plan was written."""
    consumers, holdings = dict(facts.consumers), dict(facts.holdings)
    for step in plan.steps:
        [consumer], (_, after) = step.consumers, held(step)
        consumers.pop(consumer, None)
        holdings[consumer] = Holding(after, 2 if after else None)
        if after:
            consumers[consumer] = after.amounts
    return replace(facts, consumers=consumers, holdings=holdings)


@MANY
@given(drafts())
def test_invariant_6_nothing_is_released_without_proof(draft: Draft) -> None:
    facts = draft.facts()
    for step in planned(facts).steps:
        if not losses(step):
            continue
        assert facts.coverage.complete, "a silent source may know better"
        assert step.consumers[0] in facts.alive or step.consumers[0] in facts.deleted
        if held(step)[1] is None:
            assert step.consumers[0] in facts.deleted, "only a deleted instance loses everything"


@MANY
@given(drafts())
def test_invariant_6_a_deletion_within_the_grace_is_left_alone(draft: Draft) -> None:
    facts = draft.facts()
    for step in planned(facts).steps:
        if step.consumers[0] in facts.deleted:
            deleted_at = facts.deleted[step.consumers[0]].deleted_at
            assert (facts.taken_at - deleted_at).total_seconds() >= AuditOptions().grace_seconds


@MANY
@given(drafts())
def test_invariant_7_instances_in_motion_are_left_alone(draft: Draft) -> None:
    facts = draft.facts()
    for step in planned(facts).steps:
        assert step.consumers[0] not in facts.moving
        assert step.consumers[0] not in facts.builds
        if step.consumers[0] in facts.alive:
            assert not isinstance(residence(facts.alive[step.consumers[0]], facts), InMotion)


@MANY
@given(drafts())
def test_invariant_8_foreign_owners_are_left_alone(draft: Draft) -> None:
    facts = draft.facts()
    for step in planned(facts).steps:
        assert step.consumers[0] != uuid_of("stranger")
        before, after = (side.amounts if side else {} for side in held(step))
        assert before.get(uuid_of("pool")) == after.get(uuid_of("pool"))


@MANY
@given(drafts())
def test_invariant_9_a_full_replace_keeps_all_other_allocations(draft: Draft) -> None:
    facts = draft.facts()
    for step in planned(facts).steps:
        before, after = held(step)
        if before and after:
            assert (before.project, before.user, before.consumer_type) == (
                after.project,
                after.user,
                after.consumer_type,
            )
        assert before != after
        assert after is None or after.amounts, "no consumer is left with an empty claim"


@MANY
@given(drafts())
def test_invariant_11_a_plan_leaves_no_finding_that_it_remedied(draft: Draft) -> None:
    facts = draft.facts()
    plan = planned(facts)
    after = applied(facts, plan)
    left = {finding.id for finding in audit(after, AuditOptions()).findings}
    assert not left & {finding.id for finding in plan.findings}
    assert planned(after).steps == ()


@MANY
@given(drafts())
def test_invariant_11_every_finding_has_a_remedy(draft: Draft) -> None:
    facts = draft.facts()
    assert len(planned(facts).steps) == len(audit(facts, AuditOptions()).findings)


@MANY
@given(drafts())
def test_a_consumer_has_at_most_one_finding(draft: Draft) -> None:
    subjects = [finding.subject.uuid for finding in audit(draft.facts(), AuditOptions()).findings]
    assert len(subjects) == len(set(subjects))
