# SPDX-License-Identifier: Apache-2.0
"""Missing allocation: a settled instance on a known host holds nothing at all.

What `nova-manage placement heal_allocations` repairs (seed 001), on the host's root provider only.
"""

from collections.abc import Iterator

from trueup.reconcile.expected import Unknown, host_amounts
from trueup.reconcile.facts import Allocations, Facts, Instance
from trueup.reconcile.findings import Finding, Unchecked, Verdict, plain_words
from trueup.reconcile.rules import Rules
from trueup.reconcile.standing import Placed, standing
from trueup.reconcile.steps import Step, step_on

NAME = "missing_allocation"
TITLE = "It runs on a host and holds nothing"
REMEDY = "Allocate what its flavor asks for on its host"


def find(facts: Facts, rules: Rules) -> Iterator[Verdict]:
    """Settled instances without any allocation."""
    for uuid in sorted(facts.alive.keys() - facts.consumers.keys()):
        instance = facts.alive[uuid]
        place = standing(instance, facts)
        if isinstance(place, Placed):
            yield _judge(instance, place, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...]:
    """Allocate the flavor's amounts on the root provider of its host, for its project and user."""
    instance = facts.alive[finding.subject]
    place = standing(instance, facts)
    amounts = host_amounts(instance)
    if not isinstance(place, Placed) or isinstance(amounts, Unknown):
        return ()
    after = Allocations(
        amounts={place.provider.uuid: dict(amounts)}, project=instance.project, user=instance.user
    )
    return (step_on(finding.subject, facts, after, finding.id, instance),)


def _judge(instance: Instance, place: Placed, facts: Facts) -> Verdict:
    subject, where = f"instance {instance.uuid}", place.provider.name
    amounts = host_amounts(instance)
    if isinstance(amounts, Unknown):
        return Unchecked(subject, where, f"holds nothing; {amounts.reason}")
    absent = sorted(amounts.keys() - place.provider.inventories.keys())
    if absent:
        return Unchecked(
            subject,
            where,
            f"holds nothing; its host has no inventory of {', '.join(absent)} on its root provider",
        )
    return Finding(
        NAME,
        instance.uuid,
        where,
        {
            "instance": f"{instance.name}, {instance.vm_state} on {instance.host}, "
            f"{facts.cells[instance.cell]}",
            "holds": "nothing",
            "should hold": f"{plain_words(amounts)} on {where}",
        },
    )
