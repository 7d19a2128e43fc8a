# SPDX-License-Identifier: Apache-2.0
"""Split consumer: Placement has two consumers for one uuid that was written in two forms.

Launchpad 1758057, 1780238: with and without dashes, or in capital letters. Neither form alone shows
what the instance holds, so its claim is not judged until the forms are merged.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Amounts, Facts
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Evidence,
    Finding,
    Kind,
    Need,
    Scope,
    Severity,
    Structure,
    Subject,
    Verdict,
    holding,
    plain_words,
)

NAME = "split-consumer"
TITLE = "A consumer's uuid is written in two forms, and counts as two"
REMEDY = "None in a plan: merge the forms in Placement's database with `trueup-manage db fsck`"
SEVERITIES = (Severity.HIGH,)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Consumers whose uuid has a form that Nova does not use."""
    known = facts.instance_rows.keys()
    moves = {row.uuid for row in facts.migrations} if facts.misspelled else frozenset()
    for uuid, written in sorted(facts.misspelled.items()):
        if uuid not in known and uuid not in moves and uuid not in facts.consumers:
            continue
        evidence: Evidence = {
            "written": tuple(_form(consumer, facts) for consumer in written),
            "holds": holding(facts.consumers.get(uuid, {}), facts.provider_names),
        }
        kind: Kind = "instance" if uuid in known else "consumer"
        where = ", ".join(
            sorted({_where(facts.consumers[consumer], facts) for consumer in written})
        )
        yield Finding(NAME, Subject(kind, uuid), where, Severity.HIGH, evidence, consumers=written)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """None: only some requests of Placement's API accept a uuid without dashes."""
    uuid, written = finding.subject.uuid, finding.consumers
    if uuid not in facts.consumers and len(written) == 1:
        return because("single-form", uuid=uuid, written=written[0])
    return because("fsck-merges-forms")


def _form(written: str, facts: Facts) -> Structure:
    held: dict[str, int] = {}
    for amounts in facts.consumers[written].values():
        for name, amount in amounts.items():
            held[name] = held.get(name, 0) + amount
    return {"name": written, "holds": plain_words(held)}


def _where(amounts: Amounts, facts: Facts) -> str:
    return ", ".join(sorted(facts.provider_names.get(uuid, uuid) for uuid in amounts))
