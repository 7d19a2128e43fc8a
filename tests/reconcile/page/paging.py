# SPDX-License-Identifier: Apache-2.0
"""Pages about small clouds."""

from collections.abc import Iterable
from dataclasses import replace

from tests.reconcile.planning import facts_of
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.audit import Observation, observation
from trueup.reconcile.facts import Facts
from trueup.reconcile.page.page import Page, page_of
from trueup.reconcile.page.placeable import Placeables
from trueup.reconcile.runs.journal import Journal
from trueup.reconcile.runs.journals import Unreadable
from trueup.reconcile.verdicts import Acknowledgement, AuditOptions

# What an operator's user may call an instance.
HOSTILE = "<script>window.harmed = true</script>"
# A host whose provider has another uuid: it is not checked, and no plan repairs it.
CLASH = "cell1\n  host h1 VCPU=8 MEMORY_MB=64 uuid=another\n  server web on h1 VCPU=2 MEMORY_MB=2\n"
NOT_COUNTED = Placeables(gap="nothing counts in this test")


def seen(text: str, *acknowledgements: Acknowledgement) -> Observation:
    return observation(facts_of(text), AuditOptions(acknowledgements=acknowledgements))


def page_about(
    text: str,
    *acknowledgements: Acknowledgement,
    journals: Iterable[Journal | Unreadable] = (),
) -> Page:
    return page_of(
        seen(text, *acknowledgements), journals, "A cloud of a test", "1.2.3", NOT_COUNTED
    )


def page_about_facts(facts: Facts) -> Page:
    seen = observation(facts, AuditOptions())
    return page_of(seen, (), "A cloud of a test", "1.2.3", NOT_COUNTED)


def renamed(facts: Facts, name: str, to: str) -> Facts:
    """The same facts, in which an instance has another name."""
    uuid = uuid_of(name)
    rows = (replace(row, name=to) if row.uuid == uuid else row for row in facts.instances)
    return replace(facts, instances=tuple(rows))
