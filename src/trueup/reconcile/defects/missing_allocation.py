# SPDX-License-Identifier: Apache-2.0
"""Missing allocation: a settled instance on a known host holds nothing at all.

What `nova-manage placement heal_allocations` repairs (seed 001), and what it cannot: dedicated
processors asked for by the image, nested providers, ports.
"""

from collections.abc import Iterator

from trueup.reconcile.expected import expected_on, open_reasons
from trueup.reconcile.facts import Allocations, Facts, Instance
from trueup.reconcile.findings import (
    Declined,
    Finding,
    Severity,
    Subject,
    Unchecked,
    Verdict,
    holding,
    instance_evidence,
)
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.remedies import guarded_step
from trueup.reconcile.residence import Placed, residence
from trueup.reconcile.steps import Step

NAME = "missing-allocation"
TITLE = "It runs on a host and holds nothing"
REMEDY = "Allocate what its flavor, image and ports ask for on its host"


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Settled instances without any allocation."""
    for uuid in sorted(facts.alive.keys() - facts.consumers.keys()):
        instance = facts.alive[uuid]
        place = residence(instance, facts)
        if isinstance(place, Placed):
            yield from _judge(instance, place, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Declined:
    """Allocate all that it should hold on its host, for its project and user."""
    instance = facts.alive[finding.subject.uuid]
    place = residence(instance, facts)
    if not isinstance(place, Placed):
        return Declined("it is no longer settled on a host")
    wanted = expected_on(place.provider.root, instance, facts)
    if wanted.open or not wanted.known:
        return Declined("what it should hold is not known")
    after = Allocations(amounts=dict(wanted.known), project=instance.project, user=instance.user)
    return (guarded_step({instance.uuid: after}, facts, finding, instance),)


def _judge(instance: Instance, place: Placed, facts: Facts) -> Iterator[Verdict]:
    where = place.provider.name
    wanted = expected_on(place.provider.root, instance, facts)
    names = {uuid: facts.providers[uuid].name for uuid in wanted.providers}
    if wanted.open:
        reasons = open_reasons(wanted, names)
        yield Unchecked(Subject("instance", instance.uuid), where, f"holds nothing; {reasons}")
    elif wanted.known:
        yield Finding(
            NAME,
            Subject("instance", instance.uuid),
            where,
            Severity.HIGH,
            {
                "instance": instance_evidence(instance, facts),
                "holds": (),
                "should_hold": holding(wanted.known, names),
            },
        )
