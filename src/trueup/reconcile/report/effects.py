# SPDX-License-Identifier: Apache-2.0
"""The effects of findings on capacity and quotas: how wrong Placement's counts are. Pure.

The remedy of a finding says what is right; the effect is the difference that it would make.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.facts import Allocations, Facts, Holding
from trueup.reconcile.plan import consumers_of, project_effects, proposed
from trueup.reconcile.reasons import Reason
from trueup.reconcile.steps import Step, step_growth
from trueup.reconcile.verdicts import Finding, in_order, plain_words

_DEFECTS = {defect.NAME: defect for defect in DEFECTS}
_Counts = Counter[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Miscount:
    """The miscount of a provider or project, by resource class.

    Above 0: more is counted than is used. For a project, `uuid` and `name` are the same.
    """

    uuid: str
    name: str
    resources: Mapping[str, int]

    @property
    def words(self) -> str:
        """`h1: VCPU=2 too many, DISK_GB=1 too few`."""
        many = {name: amount for name, amount in self.resources.items() if amount > 0}
        few = {name: -amount for name, amount in self.resources.items() if amount < 0}
        parts = [f"{plain_words(many)} too many"] if many else []
        parts += [f"{plain_words(few)} too few"] if few else []
        return f"{self.name}: {', '.join(parts)}"


@dataclass(frozen=True, slots=True)
class FindingEffect:
    """The effect of a finding on the capacity of providers and the quotas of projects.

    `steps` are the steps of its remedy now; if there are none, `declined` says why.
    """

    capacity: tuple[Miscount, ...]
    quota: tuple[Miscount, ...]
    steps: tuple[Step, ...] = ()
    declined: Reason | None = None


def effects_of(
    findings: Iterable[Finding], facts: Facts, planned: Iterable[Finding] | None = None
) -> dict[str, FindingEffect]:
    """The effect of each finding, computed from its remedy, by finding id.

    `planned` are the findings of the plan; None: these. Steps are those of that plan, since one
    remedy may need or block another.
    """
    every = tuple(findings)
    together = every if planned is None else tuple(planned)
    complete = with_owners(facts, {row.id: row for row in (*every, *together)}.values())
    remedies = {row.id: _DEFECTS[row.defect].remedy(row, complete) for row in (*every, *together)}
    proposal = proposed(together, complete, lambda row, _: remedies[row.id])
    declined = {row.finding.id: row.reason for row in proposal.declined}
    return {row.id: _effect(row, remedies[row.id], declined, complete) for row in every}


def with_owners(facts: Facts, findings: Iterable[Finding]) -> Facts:
    """The facts with a holding for each consumer that remedies of these findings may change.

    If Placement was not asked for a consumer's owner, Nova's owner is used.
    """
    missing = set(consumers_of(tuple(findings))) - facts.holdings.keys()
    if not missing:
        return facts
    owners = {row.uuid: row.instance for row in facts.migrations}
    found = {uuid: _holding(uuid, owners.get(uuid, uuid), facts) for uuid in missing}
    return replace(facts, holdings={**facts.holdings, **found})


def _holding(uuid: str, owner: str, facts: Facts) -> Holding:
    amounts = facts.consumers.get(uuid)
    if not amounts:
        return Holding(None, None)
    if known := facts.owners.get(uuid):
        return Holding(Allocations(amounts, known.project, known.user), None)
    instance = facts.alive.get(owner) or facts.deleted.get(owner)
    project, user = (instance.project, instance.user) if instance else ("", "")
    return Holding(Allocations(amounts, project, user), None)


def _effect(
    finding: Finding,
    steps: tuple[Step, ...] | Reason,
    declined: Mapping[str, Reason],
    facts: Facts,
) -> FindingEffect:
    if isinstance(steps, Reason):
        return FindingEffect((), (), declined=steps)
    providers: _Counts = Counter()
    projects: _Counts = Counter()
    for step in steps:
        # A step adds missing amounts, and removes excess.
        providers.subtract(step_growth(step))
        projects.subtract(
            {(row.project, row.resource_class): row.change for row in project_effects(step)}
        )
    names = facts.provider_names
    reason = declined.get(finding.id)
    return FindingEffect(
        capacity=_miscounts(providers, names),
        quota=_miscounts(projects, {}),
        steps=() if reason else steps,
        declined=reason,
    )


def _miscounts(counts: _Counts, names: Mapping[str, str]) -> tuple[Miscount, ...]:
    by_subject: dict[str, dict[str, int]] = {}
    for (uuid, resource_class), amount in counts.items():
        if uuid and amount:
            by_subject.setdefault(uuid, {})[resource_class] = amount
    rows = (Miscount(u, names.get(u, u), in_order(held)) for u, held in by_subject.items())
    return tuple(sorted(rows, key=lambda row: (row.name, row.uuid)))
