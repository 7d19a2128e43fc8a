# SPDX-License-Identifier: Apache-2.0
"""Quotas: the limits of each project, the counted usage, and the real one. Pure.

Nova counts its instances or Placement's allocations, as it is configured. Where the two differ,
Nova refuses a project too early or too late.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from enum import StrEnum

from trueup.reconcile.expected import Ambiguous, Known
from trueup.reconcile.facts import OWNERS, Amounts, Facts, Limits, Quotas
from trueup.reconcile.plan import project_effects, proposed
from trueup.reconcile.report.effects import with_owners
from trueup.reconcile.rules.claims import (
    Claim,
    HeldWithoutHost,
    LostInMove,
    OnHost,
    OnNoHost,
    all_claims,
)
from trueup.reconcile.verdicts import Finding

Usage = Mapping[str, int]
_SERVERS = "servers"
_CLASS = "class:"
_PROCESSORS = ("VCPU", "PCPU")


class Note(StrEnum):
    """A remark about a limit of a project."""

    OVER = "over the limit"
    OVER_AFTER_REPAIR = "over the limit after a repair"
    OVER_IF_FROM_PLACEMENT = "over the limit if counted from Placement"
    OVER_IF_UNIFIED = "over the limit of Keystone, if that is used"
    REFUSED = "refused: no limit is registered"


@dataclass(frozen=True, slots=True)
class QuotaRow:
    """One limit of one project. Below 0 means unlimited, None that no limit is set.

    `nova` is the usage of Nova's instances, `placement` the usage that Placement counts, and
    `strangers` the part of it that no instance holds (None: not all was read). A repair removes
    `phantom` and adds `missing`. `by_placement`: Nova refuses by Placement's count.
    """

    project: str
    resource: str
    limit: int | None
    nova: int
    placement: int
    strangers: int | None
    phantom: int
    missing: int
    by_placement: bool
    notes: tuple[Note, ...] = ()

    @property
    def repaired(self) -> int:
        """Placement's count after a repair."""
        return self.placement - self.phantom + self.missing

    @property
    def wrong(self) -> bool:
        """Whether a count is wrong, or exceeds the limit."""
        return bool(self.strangers or self.phantom or self.missing or self.notes)


@dataclass(slots=True)
class _Project:
    """The usage of one project, by resource class. `servers`: by Nova's cells and its mappings."""

    name: str
    servers: tuple[int, int] = (0, 0)
    vcpus: int = 0
    memory_mb: int = 0
    nova: Counter[str] = field(default_factory=Counter)
    placement: Counter[str] = field(default_factory=Counter)
    strangers: Counter[str] | None = None
    phantom: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)


def projects_of(facts: Facts, quotas: Quotas) -> frozenset[str]:
    """Every project that has or had instances, has allocations, or has its own limit."""
    named = {*quotas.own.of_project, *(quotas.unified.of_project if quotas.unified else ())}
    named |= {row.project for row in facts.instances}
    named |= {row.project for row in facts.instance_mappings}
    return frozenset(named | {row.project for row in facts.owners.values()})


def quota_rows(
    facts: Facts,
    findings: Iterable[Finding],
    quotas: Quotas,
    usages: Mapping[str, Usage] | None = None,
    projects: Set[str] = frozenset(),
) -> list[QuotaRow]:
    """The limits of these projects (empty: all), by project.

    `usages` are Placement's usages of each project, where the facts lack owners.
    """
    every = _projects(facts, usages)
    for project, resource_class, change in _repairs(tuple(findings), facts):
        sums = every[project].missing if change > 0 else every[project].phantom
        sums[resource_class] += abs(change)
    asked = projects or projects_of(facts, quotas)
    return [row for name in sorted(asked) for row in _rows(every[name], quotas)]


def unregistered(rows: Iterable[QuotaRow], quotas: Quotas) -> tuple[str, ...]:
    """The resources in use without a registered unified limit."""
    if quotas.unified is None:
        return ()
    used = {row.resource for row in rows if row.limit is None and (row.placement or row.nova)}
    return tuple(sorted(used - quotas.unified.default.keys()))


def telling(row: QuotaRow, quotas: Quotas) -> bool:
    """Whether a row shows anything unusual.

    Before Nova uses Keystone's limits, only those that would be exceeded do.
    """
    if row.resource.startswith((_CLASS, _SERVERS)) and not quotas.rules.unified:
        return bool(row.notes)
    return row.wrong or row.nova != row.placement


class _Projects(dict[str, _Project]):
    """Projects by name, each made on first use. `owned`: it is known what no instance holds."""

    def __init__(self, *, owned: bool) -> None:
        self._owned = owned

    def __missing__(self, name: str) -> _Project:
        strangers = Counter[str]() if self._owned else None
        return self.setdefault(name, _Project(name, strangers=strangers))


def _projects(facts: Facts, usages: Mapping[str, Usage] | None) -> _Projects:
    # What only a silent cell knows, an instance or a migration of that cell may hold.
    whole = usages is None and facts.has(OWNERS) and not facts.coverage.gap
    every = _Projects(owned=whole)
    for row in facts.alive.values():
        # PARITY: Nova's quotas do not count hidden or soft-deleted instances.
        if row.hidden or row.soft_deleted:
            continue
        mine = every[row.project]
        mine.servers = (mine.servers[0] + 1, 0)
        if row.flavor is not None:
            mine.vcpus += row.flavor.vcpus
            mine.memory_mb += row.flavor.memory_mb
    for mapping in facts.instance_mappings:
        if not mapping.queued_for_delete:
            mine = every[mapping.project]
            mine.servers = (mine.servers[0], mine.servers[1] + 1)
    for claim in all_claims(facts):
        for amounts in _right(claim, facts):
            every[claim.instance.project].nova.update(amounts)
    if usages is None:
        _add_owned(every, facts)
    else:
        for name, usage in usages.items():
            every[name].placement.update(usage)
    return every


def _add_owned(every: _Projects, facts: Facts) -> None:
    """Add the allocations of each project's consumers, and those that no instance holds."""
    moves = {row.uuid for row in facts.migrations if row.instance in facts.alive}
    spelled = {
        form for uuid, forms in facts.misspelled.items() if uuid in facts.alive for form in forms
    }
    known = facts.alive.keys() | moves | facts.builds | spelled
    for uuid, owner in facts.owners.items():
        mine = every[owner.project]
        _add(mine.placement, facts.consumers.get(uuid, {}))
        if uuid not in known and mine.strangers is not None:
            _add(mine.strangers, facts.consumers.get(uuid, {}))


def _add(total: Counter[str], amounts: Amounts) -> None:
    for held in amounts.values():
        total.update(held)


def _right(claim: Claim, facts: Facts) -> Iterable[Usage]:
    """The amounts that an instance should hold; if they are not certain, those it holds."""
    if isinstance(claim, OnNoHost | HeldWithoutHost):
        return ()
    if isinstance(claim, OnHost) and not claim.wanted.open:
        return claim.wanted.known.values()
    record = facts.record(claim.instance.uuid)
    held = [row for amounts in (record.own, *record.moves.values()) for row in amounts.values()]
    if isinstance(claim, LostInMove):
        parts = (part for lost in claim.wanted for part in lost.parts)
        held += [part.amounts for part in parts if isinstance(part, Known | Ambiguous)]
    return held


def _repairs(findings: tuple[Finding, ...], facts: Facts) -> Iterator[tuple[str, str, int]]:
    """The project, resource class and amount of each change in a plan for these findings."""
    complete = with_owners(facts, findings)
    for step in proposed(findings, complete).steps:
        for row in project_effects(step):
            yield row.project, row.resource_class, row.change


def _rows(mine: _Project, quotas: Quotas) -> Iterator[QuotaRow]:
    rules = quotas.rules
    if not rules.unified:
        yield from _of_own_quotas(mine, quotas.own, rules.from_placement)
    if quotas.unified is None:
        return
    for row in _of_unified_limits(mine, quotas.unified, rules.dedicated_too):
        if row.limit is None and rules.refuses(row.resource):
            row = replace(row, notes=(*row.notes, Note.REFUSED))
        if not rules.unified:
            row = replace(row, notes=(Note.OVER_IF_UNIFIED,) if _OVER & {*row.notes} else ())
        yield row


_OVER = {Note.OVER, Note.OVER_AFTER_REPAIR}


def _of_own_quotas(mine: _Project, limits: Limits, by_placement: bool) -> Iterator[QuotaRow]:
    """The limits of Nova's own quotas."""
    counted = (
        ("instances", (), mine.servers[0]),
        ("cores", _PROCESSORS, mine.vcpus),
        ("ram", ("MEMORY_MB",), mine.memory_mb),
    )
    for resource, classes, nova in counted:
        row = _row(mine, resource, classes, nova)
        yield _noted(replace(row, limit=limits.of(mine.name, resource), by_placement=by_placement))


def _of_unified_limits(mine: _Project, limits: Limits, both: bool) -> Iterator[QuotaRow]:
    """Keystone's limits. `both`: Nova counts all processors together."""
    named = {*limits.default, *limits.of_project.get(mine.name, {})}
    used = {_CLASS + name for name in mine.placement.keys() | mine.nova.keys()}
    for resource in (_SERVERS, *sorted(name for name in named | used if name.startswith(_CLASS))):
        name = resource.removeprefix(_CLASS)
        classes = (
            () if resource == _SERVERS else _PROCESSORS if both and name == "VCPU" else (name,)
        )
        nova = sum(mine.nova[name] for name in classes) if classes else mine.servers[0]
        yield _noted(
            replace(_row(mine, resource, classes, nova), limit=limits.of(mine.name, resource))
        )


def _row(mine: _Project, resource: str, classes: tuple[str, ...], nova: int) -> QuotaRow:
    """A limit; without classes, of servers. PARITY: Nova counts servers by its mappings."""

    def total(of: Counter[str]) -> int:
        return sum(of[name] for name in classes)

    return QuotaRow(
        project=mine.name,
        resource=resource,
        limit=None,
        nova=nova,
        placement=total(mine.placement) if classes else mine.servers[1],
        strangers=None if mine.strangers is None else total(mine.strangers),
        phantom=total(mine.phantom),
        missing=total(mine.missing),
        by_placement=True,
    )


def _noted(row: QuotaRow) -> QuotaRow:
    notes = []
    if _is_over(row, row.placement if row.by_placement else row.nova):
        notes.append(Note.OVER)
    elif row.by_placement and _is_over(row, row.repaired):
        notes.append(Note.OVER_AFTER_REPAIR)
    elif _is_over(row, row.repaired):
        notes.append(Note.OVER_IF_FROM_PLACEMENT)
    return replace(row, notes=tuple(notes))


def _is_over(row: QuotaRow, used: int) -> bool:
    return row.limit is not None and 0 <= row.limit < used
