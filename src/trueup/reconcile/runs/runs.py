# SPDX-License-Identifier: Apache-2.0
"""Runs, as commands call them: observe, confirm and plan; apply and undo, with journals."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from time import sleep

from trueup.reconcile.account import host_name, user_name
from trueup.reconcile.audit import (
    Audit,
    Confirmed,
    Observation,
    audit,
    confirmed_again,
    observation,
    places_confirmed,
    refuse_interval,
    settling_seconds,
    suspect_places,
    suspects_of,
)
from trueup.reconcile.clock import now
from trueup.reconcile.collect import collect, with_owners
from trueup.reconcile.collect.coverage import Progress
from trueup.reconcile.collect.places import collect_places
from trueup.reconcile.collect.selection import EVERYTHING, Selection
from trueup.reconcile.facts import DomainRecord, Facts, Holding
from trueup.reconcile.plan import (
    Plan,
    Remedy,
    consumers_of,
    domains_wanted,
    make_plan,
    refuse_foreign,
    refuse_too_large,
    remedy_of_defect,
    undefined_by,
)
from trueup.reconcile.runs.apply import apply, require_answers, resolve_interrupted
from trueup.reconcile.runs.journal import NOBODY, Journal, Origin, StepOutcome
from trueup.reconcile.runs.journals import (
    RunBusy,
    RunUnknown,
    applying,
    opposites,
    redone,
    reopened,
    undos,
)
from trueup.reconcile.runs.journals import runs as runs_in
from trueup.reconcile.runs.pace import ONE_BY_ONE, Pace
from trueup.reconcile.runs.undo import UndoOpen, inverse
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.libvirt import Hypervisors
from trueup.reconcile.steps import DomainDefinition, Step
from trueup.reconcile.verdicts import CONSUMERS, AuditOptions, Finding

# nova-compute's default update_resources_interval: its own repairs are done by then.
INTERVAL_SECONDS = 60

# Waits for this many seconds, and may show progress.
Wait = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Observer:
    """A cloud, and how to observe it. `pause` waits for seconds.

    With `owners`, the owners of all instances are read, even where each takes a request.
    """

    cloud: Cloud
    options: AuditOptions
    progress: Progress
    selection: Selection = EVERYTHING
    pause: Wait = sleep
    owners: bool = False

    def observe(self) -> Observation:
        """The cloud as it is now. Raises as `collect`.

        Each suspect is read again by itself: an instance's consumers, its rows in all cells and its
        migrations; a host's or provider's nodes, service, tree and allocations.
        SAFETY: a cloud that moves while it is read causes no false alarm.
        """
        facts = collect(self.cloud, self.progress, self.selection)
        if self.owners:
            facts = with_owners(facts, self.cloud)
        first = observation(facts, self.options)
        return self._consumers_again(self._places_again(first))

    def _places_again(self, first: Observation) -> Observation:
        if not (places := suspect_places(first.audit)):
            return first
        again = collect_places(self.cloud, self.progress, places)
        return places_confirmed(first, again, self.options)

    def _consumers_again(self, first: Observation) -> Observation:
        if not (suspects := suspects_of(first.audit)):
            return first
        if seconds := settling_seconds(first.audit):
            self.pause(seconds)
        known = first.facts.domains_of
        seen_on = frozenset(domain.host for uuid in suspects for domain in known.get(uuid, ()))
        again = Selection(consumers=suspects, hypervisors=seen_on, may_be_gone=True)
        facts = collect(self.cloud, self.progress, again)
        if self.owners:
            # Many suspects are read with the whole ledger, which may lack owners.
            facts = with_owners(facts, self.cloud)
        return confirmed_again(first, audit(facts, self.options))


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and the second of the observations that it was made from."""

    plan: Plan
    second: Observation


def plan(
    observer: Observer,
    first: Audit,
    interval: timedelta,
    wait: Wait,
    remedy_of: Remedy = remedy_of_defect,
) -> Planned:
    """Observe again after the interval, and plan the findings of both observations.

    Raises IntervalInvalid, and as `collect`.
    """
    refuse_interval(interval)
    # Without a finding there is nothing to confirm or to wait for.
    while first.findings and (left := first.taken_at + interval - now()) > timedelta():
        wait(left.total_seconds())
    confirmed = Confirmed(first, observer.observe(), interval)
    holdings, unread = _holdings(confirmed, observer.cloud)
    records = _domain_records(confirmed, observer.cloud.hypervisors)
    made = make_plan(confirmed, holdings, records, remedy_of, unread)
    made = replace(made, options=observer.options, selection=observer.selection, made_by=account())
    second = confirmed.second
    # PERF: replaced facts would be judged again.
    facts = replace(second.facts, domain_records=records) if records else second.facts
    return Planned(made, replace(second, facts=facts))


def _holdings(confirmed: Confirmed, cloud: Cloud) -> tuple[dict[str, Holding], dict[str, str]]:
    """The holdings of these findings' consumers, and Placement's errors, both by uuid.

    PERF: a consumer that holds nothing has no generation, and is not read again. If it is given
    something now, Placement refuses the write that expects no generation.
    """
    held = confirmed.second.facts.consumers
    consumers = consumers_of(confirmed.findings)
    nothing = dict.fromkeys(consumers, Holding(None, None))
    read, unread = cloud.placement.readable_holdings(uuid for uuid in consumers if held.get(uuid))
    return {uuid: row for uuid, row in (nothing | read).items() if uuid not in unread}, unread


def _domain_records(
    confirmed: Confirmed, hypervisors: Hypervisors | None
) -> tuple[DomainRecord, ...]:
    """The definitions that a plan may remove. A definition that cannot be read now gets no step."""
    records = []
    for host, domain in domains_wanted(confirmed) if hypervisors else ():
        assert hypervisors is not None
        with suppress(Unreachable):
            records.append(hypervisors.record(host, domain))
    return tuple(record for record in records if record is not None)


def undefined_in(folder: Path) -> frozenset[str]:
    """The domains, by uuid, whose definitions the runs in a folder have removed."""
    journals = (journal for journal in runs_in(folder) if isinstance(journal, Journal))
    steps = (step for journal in journals for step, _ in journal.in_place)
    return frozenset(uuid for step in steps for uuid in undefined_by(step))


def observer_of(
    plan: Plan, findings: Iterable[Finding], cloud: Cloud, progress: Progress
) -> Observer:
    """An observer of the subjects of these findings, with the options of the plan.

    PERF: if all subjects are consumers, only these are observed. Places are judged only where no
    consumer is selected, so then the selection is that of the plan.
    """
    every = tuple(findings)
    selection = plan.selection
    if all(row.subject.kind in CONSUMERS for row in every):
        targets = (change.target for step in plan.steps for change in step.changes)
        selection = Selection(
            consumers=frozenset(
                uuid for row in every for uuid in (row.subject.uuid, *row.consumers)
            ),
            hypervisors=frozenset(
                target.host for target in targets if isinstance(target, DomainDefinition)
            ),
        )
    return Observer(cloud, plan.options, progress, replace(selection, may_be_gone=True))


def plan_again(
    observer: Observer, findings: Iterable[Finding], interval: timedelta, wait: Wait
) -> Planned:
    """Observe twice again, and plan those of these findings that both observations have.

    SAFETY: other findings get no step: nobody saw a plan for them, or an option left them out.
    Raises IntervalInvalid, and as `collect`.
    """
    wanted = {row.id for row in findings}
    first = observer.observe().audit
    known = tuple(row for row in first.findings if row.id in wanted)
    return plan(observer, replace(first, findings=known), interval, wait)


def plan_of_facts(
    facts: Facts,
    first: Audit,
    interval: timedelta,
    options: AuditOptions,
    selection: Selection = EVERYTHING,
) -> Planned:
    """Plan the findings that a saved audit and later, saved facts of a selection share.

    Raises IntervalInvalid, ObservedTooSoon.
    """
    confirmed = Confirmed(first, observation(facts, options), interval)
    made = make_plan(confirmed, facts.holdings)
    made = replace(made, options=options, selection=selection, made_by=account())
    return Planned(made, confirmed.second)


@dataclass(frozen=True, slots=True)
class OpenStep:
    """A step that a run may or may not have written; `takes_back`: it belongs to an undo."""

    id: str
    run: str
    takes_back: bool


@dataclass(frozen=True, slots=True)
class Run:
    """A run in progress: each step is attempted when the iterator asks for its outcome.

    `finished`: every step was done before. `name` is empty if there is nothing to do. `attempted`
    also counts steps whose outcome was not asked for yet, and a write under way. The rest is about
    steps of the undone run. `open`, also of its earlier undos: they may still be written.
    `left_in_place`: they may be another client's work, and the undo does not take them back.
    `partly`: a part was written that nothing can take back. `elsewhere`: another run put them in
    place again after an undo. `in_part`: they were written in part when the run was
    interrupted, and this undo took them back.
    """

    name: str
    steps: int
    finished: bool
    outcomes: Iterator[StepOutcome]
    attempted: Callable[[], Sequence[StepOutcome]]
    open: tuple[OpenStep, ...] = ()
    left_in_place: tuple[Step, ...] = ()
    partly: tuple[StepOutcome, ...] = ()
    elsewhere: Mapping[str, tuple[Step, ...]] = field(default_factory=dict)
    in_part: tuple[StepOutcome, ...] = ()
    journal: Journal | None = None


# There is nothing to do.
NO_RUN = Run("", 0, True, iter(()), tuple)


@contextmanager
def applied(
    plan: Plan,
    cloud: Cloud,
    folder: Path,
    pace: Pace = ONE_BY_ONE,
    known: Origin = NOBODY,
) -> Iterator[Run]:
    """A run of a plan, with its journal in a folder, which keeps what is known of its origin.

    Raises Unreachable, RunBusy, JournalUnwritable, JournalDamaged, JournalFormatUnknown, UndoOpen;
    the outcomes raise Unreachable, AccessDenied, JournalUnwritable.
    """
    require_answers(plan, cloud)
    note_undos(plan.id, cloud, folder)
    with applying(plan, folder, _origin(cloud, known)) as journal:
        yield _run(journal, apply(cloud, journal, pace), folder)


def _run(journal: Journal, attempts: Iterator[StepOutcome], folder: Path) -> Run:
    steps, outcomes = len(journal.plan.steps), _noted(attempts, journal, folder)
    return Run(
        journal.run, steps, journal.finished, outcomes, lambda: journal.attempted, journal=journal
    )


@contextmanager
def continued(
    run: str, cloud: Cloud, folder: Path, pace: Pace = ONE_BY_ONE, known: Origin = NOBODY
) -> Iterator[Run]:
    """An interrupted run, continued where it stopped. Raises as `applied`, and RunUnknown."""
    with reopened(run, folder) as journal:
        require_answers(journal.plan, cloud)
        journal.go_on_as(_origin(cloud, known))
        yield _run(journal, apply(cloud, journal, pace), folder)


def closed(run: str, cloud: Cloud, folder: Path) -> Run:
    """Record how the unfinished steps of a run ended. Raises as `continued`.

    Other steps stay in place. `open` are the steps that may still be written.
    """
    with reopened(run, folder) as journal:
        in_part = resolve_interrupted(cloud, journal)
        return replace(NO_RUN, open=_open_steps(journal), in_part=in_part)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The steps of a run to take back, by id or number (empty: all), and the limit of subjects."""

    steps: Sequence[str] = ()
    limit: int | None = None


ALL_STEPS = Chosen()


@contextmanager
def undone(
    run: str,
    cloud: Cloud,
    folder: Path,
    chosen: Chosen = ALL_STEPS,
    pace: Pace = ONE_BY_ONE,
) -> Iterator[Run]:
    """A run that takes back the steps of another run that are in place, or only some of them.

    Raises as `applied`, and RunUnknown, StepUnknown, PlanForeign, LimitExceeded.
    """
    with reopened(run, folder) as original:
        refuse_foreign(original.plan, [cell.uuid for cell in cloud.nova.cells()])
        in_part = resolve_interrupted(cloud, original)
        earlier = _resolve_earlier_undos(original, cloud, folder)
        plan = inverse(original, chosen.steps)
        refuse_too_large(plan, chosen.limit)
        # A step that is attempted now gets an outcome, which an earlier write can no longer change.
        attempted = {step.id for step in plan.steps}
        open_steps = (
            *_open_steps(original),
            *(step for step in earlier if step.id not in attempted),
        )
        left = () if chosen.steps else original.contested
        partly = () if chosen.steps else original.partly
        with applied(plan, cloud, folder, pace) if plan.steps else nullcontext(NO_RUN) as undo:
            yield replace(
                undo,
                outcomes=_marking(undo, original),
                open=open_steps,
                left_in_place=left,
                partly=partly,
                elsewhere=redone(original, folder),
                in_part=in_part,
            )


def account() -> str:
    """Our account and host, as `operator@controller`."""
    return f"{user_name()}@{host_name()}"


def _origin(cloud: Cloud, known: Origin) -> Origin:
    """What is known of who writes, with our account and host, and the endpoint of Placement."""
    return replace(known, user=user_name(), host=host_name(), endpoint=cloud.placement.endpoint())


def _marking(undo: Run, original: Journal) -> Iterator[StepOutcome]:
    """The outcomes of an undo; the journal of the undone run notes each step taken back."""
    for step, outcome in undo.outcomes:
        if outcome.result == "done":
            original.take_back(step.id, undo.name, outcome.versions[::-1])
        yield step, outcome


def _noted(
    outcomes: Iterator[StepOutcome], journal: Journal, folder: Path
) -> Iterator[StepOutcome]:
    """The outcomes of a run; afterwards the journals of all runs that it reverses note its steps.

    Several runs may have one step in place: a later run of a plan counts it as done.
    """
    try:
        yield from outcomes
    finally:
        ours = {step.id: outcome.versions[::-1] for step, outcome in journal.in_place}
        for name in opposites(journal, folder) if ours else ():
            with suppress(RunBusy), reopened(name, folder) as other:
                for step, _ in other.in_place:
                    if step.id in ours:
                        other.take_back(step.id, journal.run, ours[step.id])


def _open_steps(journal: Journal) -> tuple[OpenStep, ...]:
    back = journal.plan.undoes is not None
    steps = (step for step in journal.plan.steps if journal.fate_open(step))
    return tuple(OpenStep(step.id, journal.run, back) for step in steps)


def note_undos(run: str, cloud: Cloud, folder: Path) -> None:
    """Note in the journal of a run, if there is one, what interrupted undos of it took back.

    SAFETY: otherwise the run would continue as if its steps were still in place. Raises UndoOpen
    while a step may still be taken back, and as `reopened`.
    """
    try:
        with reopened(run, folder) as original:
            open_steps = _resolve_earlier_undos(original, cloud, folder)
    except RunUnknown:
        return
    for step in open_steps:
        raise UndoOpen(step.id, step.run)


def _resolve_earlier_undos(original: Journal, cloud: Cloud, folder: Path) -> tuple[OpenStep, ...]:
    """Note in the journal what interrupted undos of its run took back without a note.

    Returns their steps that may still be written. Raises JournalDamaged.
    """
    open_steps: list[OpenStep] = []
    for name in undos(original, folder):
        with reopened(name, folder) as undo:
            resolve_interrupted(cloud, undo)
            in_place = [pair for pair in undo.in_place if not original.taken_back_by(pair[0])]
            open_steps += _open_steps(undo)
        for step, outcome in in_place:
            original.take_back(step.id, name, outcome.versions[::-1])
    return tuple(open_steps)
