# SPDX-License-Identifier: Apache-2.0
"""Repairs of a simulated cloud by the product's own `Repairer`, while the cloud goes on.

Something may happen in the cloud, or the process may be killed, whenever a part of it is read,
before each write and after it.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from tests.simulator.adapter import INTERVAL, Audited, changes_of
from tests.simulator.changes import Step as Written
from tests.simulator.changes import changed
from tests.simulator.cloud import Cloud
from tests.simulator.events import Event
from tests.simulator.judging import Judge
from tests.simulator.running import INTERVAL_SECONDS, look, play
from tests.simulator.written_to import WrittenTo, holding_of
from trueup.reconcile.audit import Audit, Confirmed
from trueup.reconcile.plan import Plan, consumers_of, make_plan
from trueup.reconcile.plan.policy import Policy
from trueup.reconcile.plan.policy_file import InForce
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.runs import Planned, guard_checks, journal
from trueup.reconcile.runs import apply as applying_steps
from trueup.reconcile.runs.apply import apply, resolve_interrupted
from trueup.reconcile.runs.journal import Journal, Origin
from trueup.reconcile.runs.journals import applying, reopened
from trueup.reconcile.runs.pace import Pace
from trueup.reconcile.runs.verification import repaired, verified
from trueup.reconcile.sinks import Message
from trueup.reconcile.watch.memory import Memory, after_round
from trueup.reconcile.watch.repairing import STOPPED, Desk, Ended, Permit, Repairer

ROUND_SECONDS = 600


class Killed(BaseException):
    """Not an Exception: nothing may catch it, as nothing catches SIGKILL."""


@dataclass(frozen=True)
class Write:
    """A write of a repair: when, for which findings, and what it changed."""

    at: datetime
    because: frozenset[str]
    changes: Written


@dataclass
class Watched:
    """A simulated cloud, what is to happen in it, and what repairs have done.

    `kills` is how likely the process is killed at each of the places where it may be.
    """

    cloud: Cloud
    events: Iterator[Event]
    rng: Random
    folder: Path
    policy: Policy
    kills: float = 0.0
    log: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    told: list[Message] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    killed: int = 0
    memory: Memory = field(default_factory=Memory)

    def __post_init__(self) -> None:
        self.repairer = self._started()

    def _started(self) -> Repairer:
        desk = Desk(
            folder=self.folder,
            policies=lambda: (InForce(self.policy, "policy.toml"),),
            clock=lambda: self.cloud.now,
            say=self._say,
            send=self.told.append,
            explain=lambda error: f"{type(error).__name__}: {error}",
        )
        return Repairer(self, desk)

    def _say(self, words: str) -> None:
        self.said.append(words)
        self.log.append(f"# {words}")

    def round(self) -> None:
        """Observe, and repair what may be repaired; then some time passes."""
        try:
            seen = self._observed().observation
            self.memory = after_round(self.memory, seen.audit, seen.facts.cells, 0.0)
            with self.at_the_time_of_the_cloud():
                self.repairer.after_round(seen, self.memory)
        except Killed:
            self.killed += 1
            self.log.append("# killed")
            self.repairer = self._started()
        self.cloud.wait(ROUND_SECONDS)

    @property
    def stopped(self) -> bool:
        return (self.folder / STOPPED).exists()

    def release(self) -> None:
        (self.folder / STOPPED).unlink()
        self.log.append("# released")

    @contextmanager
    def at_the_time_of_the_cloud(self) -> Iterator[None]:
        with ExitStack() as stack:
            for module in (guard_checks, journal, applying_steps):
                stack.enter_context(patch.object(module, "now", lambda: self.cloud.now))
            yield

    def happens(self) -> None:
        """Something may happen now."""
        self.may_be_killed()
        if self.rng.random() < 0.1 and (event := next(self.events, None)):
            play((event,), self.cloud, self.log)

    def may_be_killed(self) -> None:
        if self.rng.random() < self.kills:
            raise Killed

    def _observed(self) -> Audited:
        seen = look(self.cloud, hypervisors=False)
        while True:
            try:
                next(seen)
            except StopIteration as over:
                return over.value
            self.happens()

    # What `Repairer` asks of a cloud.

    def plan(self, first: Audit) -> Planned:
        self.cloud.finish_short_pauses()
        self.cloud.wait(INTERVAL_SECONDS)
        second = self._observed().observation
        confirmed = Confirmed(first, second, INTERVAL)
        wanted = consumers_of(confirmed.findings)
        holdings = {uuid: holding_of(self.cloud, uuid) for uuid in wanted}
        return Planned(make_plan(confirmed, holdings), second)

    def rehearse(self, plan: Plan) -> Reason | None:
        """On a copy of the cloud, in which nothing happens."""
        copy = deepcopy(self.cloud)
        target: Any = WrittenTo(copy, lambda step: None)
        with (
            TemporaryDirectory() as folder,
            applying(plan, Path(folder), Origin()) as journal,
        ):
            outcomes = list(apply(target, journal))
        bad = [step.id for step, outcome in outcomes if outcome.result != "done"]
        return because("rehearsal-failed", about=tuple(bad)) if bad else None

    def apply(self, plan: Plan, permit: Permit) -> Ended:
        with applying(plan, self.folder, Origin()) as journal:
            return self._ended(journal, permit)

    def go_on(self, run: str, permit: Permit) -> Ended:
        with reopened(run, self.folder) as journal:
            return self._ended(journal, permit)

    def close(self, run: str) -> bool:
        with reopened(run, self.folder) as journal:
            resolve_interrupted(self._target(journal), journal)
            return not any(journal.fate_open(step) for step in journal.plan.steps)

    def _ended(self, journal: Journal, permit: Permit) -> Ended:
        outcomes = []

        def permitted() -> None:
            self.happens()
            permit()

        for pair in apply(self._target(journal), journal, Pace(permit=permitted)):
            outcomes.append(pair)
            self.happens()
        findings = repaired(journal.plan.findings, outcomes)
        seen = self._observed().observation.audit
        known = {row.id for row in journal.plan.findings}
        return Ended(journal.run, outcomes, list(verified(findings, seen, lambda row: True, known)))

    def _target(self, journal: Journal) -> Any:
        reasons = {
            one.consumer: step.because for step in journal.plan.steps for one in changes_of(step)
        }

        def written(step: Written) -> None:
            self.may_be_killed()
            if wrong := Judge(self.cloud, hypervisors=False).now().wrong(step):
                self.violations.append(wrong)
            found = {why for one in step for why in reasons.get(one.consumer, ())}
            self.writes.append(Write(self.cloud.now, frozenset(found), step))
            self.log += [f"# written: {changed(one)}" for one in step]

        target: Any = WrittenTo(self.cloud, written)
        send = target.placement.send

        def sending(*words: Any) -> Any:
            answer = send(*words)
            self.may_be_killed()
            return answer

        target.placement.send = sending
        return target
