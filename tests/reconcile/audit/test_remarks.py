# SPDX-License-Identifier: Apache-2.0
"""With verdicts and remarks, something is said of every instance and every consumer."""

from hypothesis import given, settings

from tests.properties.clouds import drafts
from tests.reconcile.planning import BROKEN, facts_of
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.audit import observation, remarks
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.verdicts import AuditOptions

RIGHT = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  server web on h1 VCPU=2 MEMORY_MB=256
  server shelf state=shelved_offloaded VCPU=2 MEMORY_MB=256
holds web h1 VCPU=2 MEMORY_MB=256
"""


def remarks_of(text: str) -> dict[str, tuple[bool, str]]:
    seen = observation(facts_of(text), AuditOptions())
    rows = remarks(seen.facts, seen.audit)
    return {row.subject.uuid: (row.right, in_words(row.reason)) for row in rows}


def test_what_is_right_is_said():
    assert remarks_of(RIGHT) == {
        uuid_of("web"): (True, "holds what it should"),
        uuid_of("shelf"): (True, "is on no host, and holds nothing"),
    }


def test_on_a_host_that_is_not_checked_each_instance_is_named():
    lost = RIGHT.replace("h1 VCPU=8 MEMORY_MB=8192", "h1 without-provider")
    lost = lost.replace("holds web h1 VCPU=2 MEMORY_MB=256\n", "")
    right, reason = remarks_of(lost)[uuid_of("web")]
    assert not right
    assert "Placement has no provider" in reason


def test_nothing_is_said_twice():
    seen = observation(facts_of(BROKEN), AuditOptions())
    reported = {row.subject for row in (*seen.audit.findings, *seen.audit.unchecked)}
    assert not reported & {row.subject for row in remarks(seen.facts, seen.audit)}


@settings(max_examples=300, deadline=None, derandomize=True)
@given(drafts())
def test_something_is_said_of_every_instance_and_every_consumer(draft):
    seen = observation(draft.facts(), AuditOptions())
    audit, facts = seen.audit, seen.facts
    verdicts = (*audit.findings, *audit.unchecked, *audit.left_alone)
    said = {row.subject.uuid for row in verdicts}
    said |= {consumer for row in audit.findings for consumer in row.consumers}
    rest = tuple(remarks(facts, audit))
    assert said | {row.subject.uuid for row in rest} >= facts.alive.keys() | facts.consumers.keys()
    assert "it changed while the cloud was read" not in {in_words(row.reason) for row in rest}
