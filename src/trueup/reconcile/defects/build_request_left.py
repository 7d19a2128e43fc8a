# SPDX-License-Identifier: Apache-2.0
"""Build request left: an instance was built long ago, and its build request is still there.

nova-conductor deletes a build request as soon as a cell has the instance. While the request is
there, Nova may list the instance as it was requested, and Trueup does not judge its claim.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from trueup.reconcile.facts import BuildRequest, Facts, Instance
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Finding,
    Need,
    Scope,
    Severity,
    Subject,
    Verdict,
    instance_evidence,
)

NAME = "build-request-left"
TITLE = "An instance was built long ago, and its build request is still there"
REMEDY = "None by Trueup, which never writes to Nova's databases"
SEVERITIES = (Severity.LOW,)
NEEDS = (Need.BUILD_REQUESTS,)
SCOPE = Scope.SELECTION

_BEING_BUILT = frozenset({None, "building"})


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Instances that a cell has and that were built long ago, with their build requests."""
    for request in sorted(facts.build_requests, key=lambda row: row.instance):
        instance = facts.alive.get(request.instance) or facts.deleted.get(request.instance)
        if instance is None or not _is_over(request, instance, facts, options):
            continue
        yield Finding(
            NAME,
            Subject("instance", instance.uuid),
            instance.host or "",
            Severity.LOW,
            {"instance": instance_evidence(instance, facts)},
            since=request.created_at,
        )


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """None: Trueup never writes to Nova's databases."""
    return because("delete-build-request", instance=finding.subject.uuid)


def _is_over(
    request: BuildRequest, instance: Instance, facts: Facts, options: AuditOptions
) -> bool:
    """Whether the boot ended, and began before the grace period."""
    if instance.task_state is not None or instance.vm_state in _BEING_BUILT or instance.hidden:
        return False
    grace = timedelta(seconds=options.grace_seconds)
    began = _first(request.created_at, instance.created_at, instance.updated_at)
    return began is not None and facts.taken_at - began >= grace


def _first(*moments: datetime | None) -> datetime | None:
    return next((moment for moment in moments if moment is not None), None)
