# SPDX-License-Identifier: Apache-2.0
"""Ghosts as a table: the three views of an instance, the verdicts, and the planned steps."""

from collections.abc import Iterable, Iterator, Mapping

from trueup.reconcile.facts import Facts
from trueup.reconcile.plan import Plan
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.report.tables import Cell, Columns, Table
from trueup.reconcile.runbooks.ghosts import Comparison
from trueup.reconcile.steps import Change, DomainDefinition, Step, consumers_in, growth, held_in
from trueup.reconcile.verdicts import amounts_in_words, plain_words

GHOSTS_COLUMNS: Columns = (
    "Instance", "Name", "Nova", "Hypervisor", "Placement", "Verdict", "Plan",
)  # fmt: skip


def ghosts_table(rows: Iterable[Comparison], plan: Plan, facts: Facts) -> Table:
    """One row for each instance; the last column has its steps of the plan."""
    planned = _planned(plan)
    return GHOSTS_COLUMNS, [_row(row, planned.get(row.uuid, ""), facts) for row in rows]


def losses(plan: Plan) -> Iterator[str]:
    """The effects of the plan that an undo cannot take back, in words."""
    lost = {
        "guest": "its guest is stopped, and what is in its memory is lost",
        "nvram": "the variables of its firmware are deleted",
        "managed-save": "the saved memory of its guest is deleted",
    }
    for change in _removals(plan):
        assert isinstance(change.target, DomainDefinition)
        for discarded in change.target.discards:
            yield f"domain {change.target.domain} on {change.target.host}: {lost[discarded]}"


def kept(plan: Plan, facts: Facts) -> Iterator[str]:
    """What stays on the hosts after definitions are removed, in words."""
    for change in _removals(plan):
        target = change.target
        assert isinstance(target, DomainDefinition)
        record = facts.record_of_domain.get((target.host, target.domain))
        paths = record.disks if record else ()
        if record and record.nvram and "nvram" not in target.discards:
            paths = (*paths, record.nvram)
        if paths:
            yield f"on {target.host}: {' '.join(paths)}"


def attached(plan: Plan, facts: Facts) -> Iterator[str]:
    """The volumes of the ghosts in the plan, in words: only Cinder can detach them."""
    cleaned = {finding.subject.uuid for finding in plan.findings}
    found = ((row.instance, row.volume) for row in facts.block_devices if row.volume)
    for instance, volume in sorted(pair for pair in found if pair[0] in cleaned):
        yield (
            f"volume {volume} of {instance}: it stays attached in Cinder. List the attachment with "
            "'openstack --os-volume-api-version 3.27 volume attachment list --all-projects "
            f"--server-id {instance}', and delete it with 'volume attachment delete'"
        )


def _row(row: Comparison, plan: str, facts: Facts) -> tuple[Cell, ...]:
    instance = row.instance
    return (
        row.uuid,
        instance.name if instance else "",
        _nova(row),
        _hypervisors(row),
        amounts_in_words(row.held, facts.provider_names) or "nothing",
        "; ".join(map(in_words, row.verdicts)) or _agreement(row),
        plan,
    )


def _agreement(row: Comparison) -> str:
    if not row.agree:
        return "they differ"
    return "Nova and Placement agree" if row.on_hypervisors is None else "they agree"


def _nova(row: Comparison) -> str:
    instance = row.instance
    if instance is None:
        return "no cell knows it"
    if instance.deleted:
        since = f" at {instance.deleted_at:%Y-%m-%d %H:%M:%S}" if instance.deleted_at else ""
        return f"deleted{since}, was on {instance.host or 'no host'}"
    task = f", {instance.task_state}" if instance.task_state else ""
    return f"{instance.vm_state}{task} on {instance.host or 'no host'}"


def _hypervisors(row: Comparison) -> str:
    said = [f"{state or 'no domain'} on {host}" for host, state in sorted(row.guests.items())]
    if not said:
        return "no domain" if row.on_hypervisors is not None else "not known"
    return "; ".join(said)


def _planned(plan: Plan) -> Mapping[str, str]:
    """The steps of the plan in words, by instance."""
    found: dict[str, list[str]] = {}
    for step in plan.steps:
        for uuid, action in _actions(step, plan):
            found.setdefault(uuid, []).append(action)
    for declined in plan.declined:
        found.setdefault(declined.finding.subject.uuid, []).append(
            f"no step: {in_words(declined.reason)}"
        )
    return {uuid: "; ".join(actions) for uuid, actions in found.items()}


def _actions(step: Step, plan: Plan) -> Iterator[tuple[str, str]]:
    for change in step.changes:
        target = change.target
        if isinstance(target, DomainDefinition):
            stopped = "stop its guest and " if "guest" in target.discards else ""
            yield target.domain, f"{stopped}undefine it on {target.host}"
        for uuid in consumers_in(change):
            yield uuid, f"release {_released(change, uuid, plan)}"


def _released(change: Change, uuid: str, plan: Plan) -> str:
    less = growth(held_in(change.before).get(uuid), held_in(change.after).get(uuid))
    by_provider: dict[str, dict[str, int]] = {}
    for (provider, name), amount in less.items():
        by_provider.setdefault(provider, {})[name] = -amount
    return "; ".join(
        f"{plain_words(amounts)} of {plan.names.get(provider, provider)}"
        for provider, amounts in by_provider.items()
    )


def _removals(plan: Plan) -> Iterator[Change]:
    for step in plan.steps:
        for change in step.changes:
            if isinstance(change.target, DomainDefinition) and change.after is None:
                yield change
