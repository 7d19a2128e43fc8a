# SPDX-License-Identifier: Apache-2.0
"""Stories of small clouds, by the names of scenarios."""

from tests.reconcile.planning import facts_of
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.audit import observation
from trueup.reconcile.report.story import Story
from trueup.reconcile.report.story_subjects import story
from trueup.reconcile.verdicts import AuditOptions


def story_of(kind: str, name: str, text: str) -> Story:
    subject = name if kind == "host" else uuid_of(name)
    return story(kind, subject, observation(facts_of(text), AuditOptions()))


def section(one: Story, about: str) -> tuple[str, ...]:
    """The sentences of a section; nothing if there is none."""
    return next((row.sentences for row in one.sections if row.about == about), ())
