# SPDX-License-Identifier: Apache-2.0
"""In progress: tasks and moves that Nova is at work on, those that hang, and what ends them. Pure.

A plan has no step for those that hang: only the operator knows that nobody works on them any more.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from trueup.reconcile.facts import BuildRequest, Facts, Instance
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.advice import cannot_end, ending_of
from trueup.reconcile.rules.claims import Moving, claims
from trueup.reconcile.rules.strangers import names_of_providers
from trueup.reconcile.verdicts import AuditOptions, LeftAlone, Subject, Unchecked


def in_progress(facts: Facts, options: AuditOptions) -> Iterator[LeftAlone | Unchecked]:
    """What is under way: left alone or, when older than an option allows, not checked."""
    for claim in claims(facts, Moving):
        yield _verdict(claim, facts, options)
    known = facts.alive.keys() | facts.deleted.keys()
    selected = None if facts.hosts_in_scope is None else {*facts.consumers, *facts.mappings}
    for request in sorted(facts.build_requests, key=lambda row: row.instance):
        asked = selected is None or request.instance in selected
        if asked and request.instance not in known:
            yield _request(request, facts, options)


def _verdict(claim: Moving, facts: Facts, options: AuditOptions) -> LeftAlone | Unchecked:
    instance = claim.instance
    subject, where = Subject("instance", instance.uuid), instance.host or ""
    since = _last_changed(instance, facts)
    age = facts.taken_at - since if since else None
    reason = claim.reason
    known, waits = age or timedelta(), _waits(instance, facts)
    is_settled = age is not None and known >= timedelta(seconds=options.grace_seconds)
    may_hang = is_settled and (not waits or _to_be_confirmed(instance, facts))
    endless = cannot_end(instance, facts) if may_hang else None
    is_old = bool(age and not waits) and known >= timedelta(seconds=options.stuck_seconds)
    if not is_old and not endless:
        return LeftAlone(subject, where, reason, since)
    ends = ending_of(instance, facts)
    every = (reason, _since(age), endless)
    if is_old:
        return Unchecked(subject, where, because("hangs", *every, ends=ends), ends)
    return LeftAlone(subject, where, because("cannot-end", *every, ends=ends), since, ends)


def _request(request: BuildRequest, facts: Facts, options: AuditOptions) -> LeftAlone | Unchecked:
    """A server that no cell has yet: only its build request says that it is wanted."""
    subject, since = Subject("build", request.instance), request.created_at
    held = request.instance in facts.consumers
    where = names_of_providers(request.instance, facts) if held else ""
    age = facts.taken_at - since if since else None
    reason = because("no-cell-yet")
    if facts.coverage.complete and age and age >= timedelta(seconds=options.stuck_seconds):
        ends = (
            f"run `openstack server delete {request.instance}`, and have its owner build it again"
        )
        return Unchecked(subject, where, because("hangs", reason, _since(age), ends=ends), ends)
    return LeftAlone(subject, where, reason, since)


def _waits(instance: Instance, facts: Facts) -> bool:
    """Whether it waits for its owner, who is to confirm a move, or for another cell, maybe days.

    An instance without a task and without a move waits for nothing that could be ended.
    """
    move = facts.moving.get(instance.uuid)
    if instance.hidden:
        return True
    if instance.task_state is None and move is None:
        return instance.vm_state not in ("building", "deleted")
    return _to_be_confirmed(instance, facts)


def _to_be_confirmed(instance: Instance, facts: Facts) -> bool:
    """Whether its owner is to confirm or revert a move of it, within a cell."""
    move = facts.moving.get(instance.uuid)
    settled = instance.task_state is None and not instance.hidden
    return settled and instance.vm_state == "resized" and bool(move and move.status == "finished")


def _since(age: timedelta | None) -> Reason | None:
    return because("changed-last", age=int(age.total_seconds())) if age else None


def _last_changed(instance: Instance, facts: Facts) -> datetime | None:
    """When Nova last changed what is under way: the migration, and the instance if it has a task.

    An instance without a task is changed for other reasons, as when its power state is noted.
    """
    move = facts.moving.get(instance.uuid)
    rows = (move, None if move and instance.task_state is None else instance)
    times = (row.updated_at or row.created_at for row in rows if row)
    return max((moment for moment in times if moment), default=None)
