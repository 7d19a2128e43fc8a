# SPDX-License-Identifier: Apache-2.0
"""The invariants of reconcile, each held in every cloud that clouds.py can make."""

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given, settings

from tests.properties.clouds import PLAIN, drafts
from tests.reconcile.observing import gains, held_by, plan_of
from tests.scenarios.drafting import Draft, uuid_of
from trueup.reconcile.audit import audit
from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.facts import Allocations, Facts, Holding
from trueup.reconcile.plan import Plan
from trueup.reconcile.rules.claims import Moving, claim_of
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import AuditOptions

# Defects whose remedy is somebody else's in some clouds: those of claims are not among them.
WITH_REASONS = {one.NAME for one in DEFECTS} - {
    "orphaned-allocation", "evacuation-residue", "migration-residue", "missing-allocation",
    "wrong-provider", "doubled-allocation", "wrong-amount", "shelved-allocation",
}  # fmt: skip
MANY = settings(max_examples=150, deadline=None, derandomize=True)


def planned(facts: Facts) -> Plan:
    return plan_of(facts)


def losses(step: Step) -> dict[str, tuple[str, ...]]:
    """The providers of which each consumer loses something."""
    every = {consumer: gains(after, before) for consumer, (before, after) in held_by(step).items()}
    return {consumer: lost for consumer, lost in every.items() if lost}


def owner_of(consumer: str, facts: Facts) -> str:
    """The instance for which a consumer holds: itself, or that of a migration."""
    return {row.uuid: row.instance for row in facts.migrations}.get(consumer, consumer)


def of_pool(allocations: Allocations | None) -> Mapping[str, int] | None:
    """What is held of the sharing provider, which is of nobody's host."""
    return allocations.amounts.get(uuid_of("pool")) if allocations else None


def applied(facts: Facts, plan: Plan) -> Facts:
    """The facts after every step of a plan was written."""
    consumers, holdings = dict(facts.consumers), dict(facts.holdings)
    for step in plan.steps:
        for consumer, (_, after) in held_by(step).items():
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
        for consumer, (_, after) in held_by(step).items():
            instance = owner_of(consumer, facts)
            assert instance in facts.alive or instance in facts.deleted
            if after is None and consumer == instance and instance not in facts.deleted:
                alive = facts.alive[instance]
                assert alive.host is None, "one that is alive and on a host keeps its claim"
                assert alive.vm_state == "shelved_offloaded"


@MANY
@given(drafts())
def test_no_living_instance_is_left_with_less_than_it_should_hold(draft: Draft) -> None:
    """The servers of these clouds all have one flavor, PLAIN."""
    facts = draft.facts()
    for step in planned(facts).steps:
        for consumer, (_, after) in held_by(step).items():
            if consumer in facts.alive and facts.alive[consumer].host is not None:
                provider = uuid_of(facts.alive[consumer].host)
                assert after.amounts[provider] == PLAIN


@MANY
@given(drafts())
def test_invariant_6_a_deletion_within_the_grace_is_left_alone(draft: Draft) -> None:
    facts = draft.facts()
    for step in planned(facts).steps:
        for uuid in {owner_of(one, facts) for one in step.consumers} & facts.deleted.keys():
            deleted_at = facts.deleted[uuid].deleted_at
            assert (facts.taken_at - deleted_at).total_seconds() >= AuditOptions().grace_seconds


@MANY
@given(drafts())
def test_invariant_7_instances_in_motion_are_left_alone(draft: Draft) -> None:
    facts = draft.facts()
    for step in planned(facts).steps:
        for uuid in {owner_of(one, facts) for one in step.consumers}:
            assert uuid not in facts.moving
            assert uuid not in facts.builds
            if uuid in facts.alive:
                assert not isinstance(claim_of(uuid, facts), Moving)


@MANY
@given(drafts())
def test_invariant_8_foreign_owners_are_left_alone(draft: Draft) -> None:
    facts = draft.facts()
    for step in planned(facts).steps:
        for consumer, (before, after) in held_by(step).items():
            assert consumer != uuid_of("stranger")
            # With the deleted row as proof, its share of the pool is released as well.
            if owner_of(consumer, facts) in facts.alive:
                assert of_pool(before) in (of_pool(after), None) or after is None


@MANY
@given(drafts())
def test_invariant_9_a_full_replace_keeps_all_other_allocations(draft: Draft) -> None:
    facts = draft.facts()
    for step in planned(facts).steps:
        for before, after in held_by(step).values():
            if before and after:
                assert (before.project, before.user, before.consumer_type) == (
                    after.project,
                    after.user,
                    after.consumer_type,
                )
            assert after is None or after.amounts, "no consumer is left with an empty claim"
        assert any(before != after for before, after in held_by(step).values())


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
def test_invariant_11_every_finding_has_a_remedy_or_a_reason(draft: Draft) -> None:
    facts = draft.facts()
    plan, found = planned(facts), audit(facts, AuditOptions()).findings
    assert {one.finding.defect for one in plan.declined} <= WITH_REASONS
    assert {one.id for one in found} == {
        *(one.id for one in plan.findings),
        *(one.finding.id for one in plan.declined if one.reason),
    }


@MANY
@given(drafts())
def test_a_consumer_has_at_most_one_finding(draft: Draft) -> None:
    subjects = [finding.subject.uuid for finding in audit(draft.facts(), AuditOptions()).findings]
    assert len(subjects) == len(set(subjects))
