# SPDX-License-Identifier: Apache-2.0
"""Asks one defect about a small cloud: its verdicts, its one finding, and that one's remedy."""

from collections.abc import Iterable

from tests.reconcile.planning import facts_of
from trueup.reconcile.defects import Defect, ask
from trueup.reconcile.facts import Allocations, Facts
from trueup.reconcile.reasons import Reason
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.steps import Guard, Step, held_in
from trueup.reconcile.verdicts import AuditOptions, Finding, LeftAlone, Unchecked, Verdict


def verdicts(defect: Defect, text: str | Facts, grace: int = 600) -> list[Verdict]:
    """Everything that a defect says of a cloud."""
    facts = facts_of(text) if isinstance(text, str) else text
    return list(ask(defect, facts, AuditOptions(grace_seconds=grace)))


def found(defect: Defect, text: str | Facts) -> Finding:
    """The one verdict, which is a finding."""
    [one] = verdicts(defect, text)
    assert isinstance(one, Finding)
    return one


def reason(defect: Defect, text: str | Facts, grace: int = 600) -> str:
    """Why the one subject is left alone, or could not be checked."""
    [one] = verdicts(defect, text, grace)
    assert isinstance(one, LeftAlone | Unchecked)
    return in_words(one.reason)


def steps(defect: Defect, text: str | Facts) -> tuple[Step, ...]:
    """The steps that repair the one finding."""
    facts = facts_of(text) if isinstance(text, str) else text
    remedy = defect.remedy(found(defect, facts), facts)
    assert not isinstance(remedy, Reason)
    return remedy


def declined(defect: Defect, text: str | Facts, later: str | Facts | None = None) -> str:
    """Why there is no step for the one finding, or none any more with the facts of `later`."""
    now = text if later is None else later
    facts = facts_of(now) if isinstance(now, str) else now
    remedy = defect.remedy(found(defect, text), facts)
    assert isinstance(remedy, Reason)
    return in_words(remedy)


def guards(made: Iterable[Step], kind: type[Guard]) -> list[Guard]:
    """The guards of one type, of all steps."""
    return [one for step in made for one in step.guards if isinstance(one, kind)]


def left_with(made: Iterable[Step]) -> dict[str, Allocations | None]:
    """What each consumer holds after these steps."""
    return {
        consumer: held
        for step in made
        for change in step.changes
        for consumer, held in held_in(change.after).items()
    }
