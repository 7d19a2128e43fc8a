# SPDX-License-Identifier: Apache-2.0
"""Repairs after a round: plan, rehearse, announce; in the next round apply, verify, tell.

SAFETY: what a run may change is on disk before the run begins, so that no kill gives the budget
back. Whatever goes wrong stops all repairs, until a person removes a file.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec

from trueup.reconcile import files
from trueup.reconcile.audit import Audit, Observation
from trueup.reconcile.files import is_there
from trueup.reconcile.plan import Plan
from trueup.reconcile.plan.automatic import NotAutomatic, Terms, terms_of
from trueup.reconcile.plan.policy_file import InForce
from trueup.reconcile.plan.rulings import WritesClosed, refuse_changed, refuse_closed, rulings_of
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.report.run_messages import Complete
from trueup.reconcile.runs import Planned
from trueup.reconcile.runs.journal import Journal, StepOutcome
from trueup.reconcile.runs.journals import RunUnknown, Unreadable, read, runs
from trueup.reconcile.sinks import Message
from trueup.reconcile.verdicts.verified import Verified
from trueup.reconcile.watch import news
from trueup.reconcile.watch.memory import Memory
from trueup.reconcile.watch.memory_file import keep, kept_in
from trueup.reconcile.watch.repairs import (
    CONTINUED_MAX,
    Repairs,
    Stop,
    allowed,
    announced_first,
    candidates,
    hosts_of,
    is_announced,
    recalled,
    why_stop,
    why_stop_after,
    written_for,
)
from trueup.reconcile.wording import counted

REPAIRS, STOPPED = "repairs.json", "repairs-stopped.json"
# Called before each step; ends the run if it raises.
Permit = Callable[[], None]


@dataclass(eq=False)
class RepairsHalted(Exception):
    """A run stops before its next step."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended, and what became of the findings whose steps are done."""

    run: str
    outcomes: Sequence[StepOutcome]
    verified: Sequence[Verified]


class RepairableCloud(Protocol):
    """The cloud that is repaired; each method raises as the commands that do the same."""

    def plan(self, first: Audit) -> Planned:
        """Observe again, and plan the findings that both observations have."""

    def rehearse(self, plan: Plan) -> Reason | None:
        """Why a rehearsal of a plan fails; None if all of it succeeds."""

    def apply(self, plan: Plan, permit: Permit) -> RunEnd: ...

    def go_on(self, run: str, permit: Permit) -> RunEnd: ...

    def close(self, run: str) -> bool:
        """Record how the steps of a run ended; whether that is known of all of them."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What repairs work with, beside the cloud.

    `folder` has the journals and what is remembered, `policies` reads those in force, `say` tells a
    person, `send` tells programs, `explain` words an error, `complete` adds to a command what it
    needs to find this cloud.
    """

    folder: Path
    policies: Callable[[], Sequence[InForce]]
    clock: Callable[[], datetime]
    say: Callable[[str], None]
    send: Callable[[Message], None]
    explain: Callable[[Exception], str]
    complete: Complete = str


class Repairer:
    """Repairs after each round what the policies permit. `state` is what it remembers."""

    def __init__(self, cloud: RepairableCloud, desk: Desk) -> None:
        self._cloud, self._desk = cloud, desk
        kept = kept_in(desk.folder / REPAIRS, Repairs)
        journals = runs(desk.folder) if kept.value is None else ()
        ours = [journal for journal in journals if isinstance(journal, Journal)]
        self.state = kept.value or recalled(ours, desk.clock())
        self.runs: Counter[str] = Counter()
        self.room: tuple[int, int] = (0, 0)
        # Why the last round repaired nothing, where it might have.
        self.note = ""
        self._terms: Terms | None = None
        self._policies: Sequence[InForce] = ()
        # A stop that could not be put on disk.
        self._unmarked = False
        unread = [journal.reason for journal in journals if isinstance(journal, Unreadable)]
        if lost := kept.lost or "; ".join(unread):
            # SAFETY: what was spent of the budget is lost with it.
            path = str(desk.folder / (REPAIRS if kept.lost else ""))
            self._stop(because("repair-memory-lost", path=path, error=lost))

    def after_round(self, seen: Observation | None, memory: Memory) -> None:
        """Repair what may be repaired now. `seen`: what the round saw; None if it failed."""
        self.note = ""
        try:
            self._after_round(seen, memory)
        except NotAutomatic as error:
            self._note(f"Nothing is repaired: {in_words(error.reason)}.{self._waiting()}")
        except WritesClosed as closed:
            why = f"{closed.policy}: {in_words(closed.reason)}"
            self._note(f"Nothing is repaired now: {why}.{self._waiting()}")
        except RepairsHalted as halted:
            self._stop(halted.reason)
        except Exception as error:
            self._stop(because("repair-failed", error=self._desk.explain(error)))
        if self._terms is not None:
            self.room = self.state.room(self._terms, self._desk.clock())

    def _waiting(self) -> str:
        """What becomes of a run that a policy ended."""
        if not self.state.running:
            return ""
        back = self._desk.complete(f"trueup undo {self.state.running}")
        return (
            f" Run {self.state.running} stays as it is, and is continued when that is over, for up "
            f"to {CONTINUED_MAX.total_seconds() / 3600:g} h. To take it back: {back}"
        )

    def _after_round(self, seen: Observation | None, memory: Memory) -> None:
        self._policies = policies = self._desk.policies()
        self._terms = terms = terms_of(policies)
        if self._is_stopped():
            return
        self._refuse_halted(terms)
        if seen is None:
            raise RepairsHalted(because("repair-round-failed", error=memory.rounds[-1].reason))
        if reason := why_stop(seen, memory, self.state, terms):
            raise RepairsHalted(reason)
        refuse_closed(policies, self._desk.clock())
        if self.state.running:
            self._go_on(policies)
        else:
            self._begin(seen, memory, terms, policies)

    def _begin(
        self, seen: Observation, memory: Memory, terms: Terms, policies: Sequence[InForce]
    ) -> None:
        """Announce the next repair, or make the one that was announced."""
        found = candidates(seen.audit, memory, self.state, terms)
        if not found:
            self._remember(replace(self.state, announced={}))
            return
        room = min(self.state.room(terms, self._desk.clock()))
        if not room:
            self._leave_out(because("repair-budget-spent", room=room))
            return
        planned = self._cloud.plan(replace(seen.audit, findings=found))
        if gap := planned.second.audit.coverage.gap:
            raise RepairsHalted(because("repair-evidence-incomplete", gap))
        # SAFETY: by the size of the whole plan, or what is announced would make it small.
        rulings = rulings_of(planned.plan, policies)
        evidence = {sighting.id: sighting.evidence for sighting in memory.sightings}
        first = announced_first(planned.plan, self.state, evidence)
        plan = allowed(first, rulings, planned.second.facts, room)
        if isinstance(plan, Reason):
            self._leave_out(plan)
            return
        plan = replace(plan, rulings={step.id: rulings[step.id] for step in plan.steps})
        if reason := self._cloud.rehearse(plan):
            raise RepairsHalted(because("repair-rehearsal", reason))
        if is_announced(plan, self.state, evidence):
            self._write(plan)
            return
        self._remember(
            replace(self.state, announced={row.id: evidence[row.id] for row in plan.findings})
        )
        self._announce(plan, hosts_of(plan, planned.second.facts))

    def _leave_out(self, reason: Reason) -> None:
        # Without a number: nobody has asked the rules about each finding.
        self._note(f"Nothing is repaired now: {in_words(reason)}.")
        self._remember(replace(self.state, announced={}))

    def _note(self, words: str) -> None:
        self.note = words
        self._desk.say(words)

    def _announce(self, plan: Plan, hosts: tuple[str, ...]) -> None:
        on = " and ".join(hosts)
        self._desk.say(
            f"The next round repairs {counted(len(plan.findings), 'finding')} on {on}, if they are "
            f"still the same: {', '.join(row.id for row in plan.findings)}. To prevent it: create "
            f"{self._desk.folder / STOPPED}."
        )
        self._desk.send(news.repair_announced(plan, hosts, self._desk.clock()))

    def _write(self, plan: Plan) -> None:
        spent = self.state.reserving(len(plan.subjects), self._desk.clock())
        # SAFETY: on disk before anything is written to the cloud.
        self._remember(replace(self.state, spent=spent, announced={}, running=plan.id))
        self._conclude(self._cloud.apply(plan, self._permit))

    def _go_on(self, policies: Sequence[InForce]) -> None:
        """Continue the run that was interrupted, or say what is left of it."""
        name = self.state.running
        try:
            journal = read(name, self._desk.folder)
        except RunUnknown:
            self._desk.say(f"Run {name} was interrupted before it wrote anything.")
            self._remember(replace(self.state, running=""))
            return
        rulings = rulings_of(journal.plan, policies)
        decisions = {rulings[step.id].decision for step in journal.plan.steps if step.id in rulings}
        age = self._desk.clock() - journal.plan.made_at
        if journal.finished or (decisions == {"automatic"} and age <= CONTINUED_MAX):
            self._desk.say(f"Run {journal.run} was interrupted: continuing it.")
            self._remember(self._until_now())
            self._conclude(self._cloud.go_on(journal.run, self._permit))
        else:
            self._leave(journal)

    def _leave(self, journal: Journal) -> None:
        if not self._cloud.close(journal.run):
            self._desk.say(f"A step of run {journal.run} may still be written: it is read again.")
            return
        left = read(journal.run, self._desk.folder)
        steps = len(left.in_place)
        every = counted(len(journal.plan.steps), "step")
        self._desk.say(
            f"Run {journal.run} was interrupted, and is not continued: it is too old, or a policy "
            f"forbids it now. {steps} of {every} done. To take them back: "
            + self._desk.complete(f"trueup undo {journal.run}")
        )
        # SAFETY: what it wrote was a repair, and a refusal is one, although it did not end.
        self._remember(replace(self._repaired(left.attempted), running=""))
        if reason := why_stop_after(left.attempted, ()):
            raise RepairsHalted(reason)

    def _repaired(self, outcomes: Sequence[StepOutcome]) -> Repairs:
        """What is remembered of a run that has ended so, now."""
        state = self._until_now()
        repaired = state.repairing(written_for(outcomes), self._desk.clock())
        return replace(state, repaired=repaired)

    def _until_now(self) -> Repairs:
        return replace(self.state, spent=self.state.until(self._desk.clock()))

    def _conclude(self, ended: RunEnd) -> None:
        results = Counter[str](outcome.result for _, outcome in ended.outcomes)
        reason = why_stop_after(ended.outcomes, ended.verified)
        is_open = bool(results["unknown"])
        state = self._repaired(ended.outcomes)
        self._remember(replace(state, running=state.running if is_open else ""))
        self.runs["unknown" if is_open else "stopped" if reason else "done"] += 1
        now, complete = self._desk.clock(), self._desk.complete
        self._desk.send(news.repair_ended(ended.run, results, ended.verified, now, complete))
        if reason:
            raise RepairsHalted(reason)
        if is_open:
            self._desk.say(f"What became of a step of run {ended.run} is read in the next round.")

    def _permit(self) -> None:
        refuse_changed(self._policies, self._desk.policies())
        refuse_closed(self._policies, self._desk.clock())
        self._refuse_halted(terms_of(self._policies))

    def _refuse_halted(self, terms: Terms) -> None:
        """Raise RepairsHalted if a person wants nothing to be written."""
        for path in (*terms.pauses, self._desk.folder / STOPPED):
            if is_there(path):
                raise RepairsHalted(because("repair-paused", path=str(path)))

    def _is_stopped(self) -> bool:
        """Whether a stop holds, which is said; one that a person has ended is noted."""
        path = self._desk.folder / STOPPED
        if self._unmarked and self.state.stopped:
            self._mark(self.state.stopped)
            return True
        if is_there(path):
            stop = self.state.stopped
            if stop is None:
                stop = Stop(self._desk.clock(), because("repair-paused", path=str(path)))
                self._remember(replace(self.state, stopped=stop))
            self._desk.say(
                f"Nothing is repaired since {stop.at:%Y-%m-%d %H:%M:%S}: {in_words(stop.reason)}. "
                f"When the cause is gone, remove {path}."
            )
            return True
        if self.state.stopped is not None:
            self._desk.say(f"Repairs go on: {path} was removed.")
            # SAFETY: a person may have prevented what was announced: it is announced again.
            released = replace(self.state, stopped=None, announced={})
            self._remember(replace(released, released_at=self._desk.clock()))
        return False

    def _stop(self, reason: Reason) -> None:
        """Stop all repairs until a person ends it, and tell it."""
        stop, path = Stop(self._desk.clock(), reason), self._desk.folder / STOPPED
        self._desk.say(
            f"Nothing more is repaired: {in_words(reason)}. When the cause is gone, remove {path}."
        )
        self._mark(stop)
        self._desk.send(news.repairs_stopped(stop, str(path)))

    def _mark(self, stop: Stop) -> None:
        """Put a stop on disk: the file that a person removes, then the rest."""
        path = self._desk.folder / STOPPED
        document = msgspec.json.encode(news.stop_document(stop, str(path)))
        try:
            self._unmarked = True
            if not is_there(path):
                files.write(path, msgspec.json.format(document) + b"\n")
            self._unmarked = False
            self._remember(replace(self.state, stopped=stop))
        except files.FileUnwritable as error:
            self.state = replace(self.state, stopped=stop)
            self._desk.say(f"{error.path} cannot be written: {error.reason}.")

    def _remember(self, state: Repairs) -> None:
        """Keep it, whole and durable. Raises FileUnwritable: then nothing may be written."""
        changed, self.state = state != self.state, state
        if changed:
            keep(self._desk.folder / REPAIRS, state)
