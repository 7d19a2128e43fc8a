# SPDX-License-Identifier: Apache-2.0
"""Repairs of `trueup watch`: the cloud that they write to, with the driver of every command."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from trueup.cli.driving import Driven, Driver
from trueup.cli.outcomes import SLOW_AFTER_SECONDS, tell_unsettled
from trueup.cli.rehearsing import rehearsed
from trueup.cli.terminal.progress import complain
from trueup.cli.trail import Trail
from trueup.reconcile.audit import Audit
from trueup.reconcile.plan import Plan, refuse_foreign, refuse_too_large
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.runs import Observer, Planned, Wait, closed, plan
from trueup.reconcile.runs.journal import Origin
from trueup.reconcile.runs.journals import read
from trueup.reconcile.runs.pace import Pace
from trueup.reconcile.sinks import Couriers, Message, Sink
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.verdicts import AuditOptions
from trueup.reconcile.watch.repairing import Permit, RunEnd


@dataclass(frozen=True, slots=True)
class RepairedCloud:
    """The cloud of a watch: connected anew each time, as each round is.

    `interval` is in seconds between the observations of a plan, `pause` lets them pass.
    """

    connect: Callable[[], AbstractContextManager[Cloud]]
    options: Callable[[], AuditOptions]
    folder: Path
    trail: Trail
    interval: float
    pause: Wait

    def plan(self, first: Audit) -> Planned:
        with self.connect() as cloud:
            observer = Observer(cloud, self.options(), _quietly)
            return plan(observer, first, timedelta(seconds=self.interval), self.pause)

    def rehearse(self, plan: Plan) -> Reason | None:
        """Why a rehearsal fails; None if every step was rehearsed and is as it should be."""
        with self.connect() as cloud:
            shown = rehearsed(plan, cloud, _quietly)
        if shown.succeeded and shown.complete:
            return None
        bad = [step.id for step, outcome in shown.outcomes if outcome.result != "done"]
        bad += [row.step.id for row in shown.left_out]
        bad += [row.id for row in (*shown.left, *shown.new)]
        bad += [str(row.subject) for row in shown.unchecked]
        bad += [row.source for row in shown.missing]
        return because("rehearsal-failed", about=tuple(bad))

    def apply(self, plan: Plan, permit: Permit) -> RunEnd:
        with self.connect() as cloud:
            _refuse_foreign(plan, cloud)
            refuse_too_large(plan, None)
            driver = self._driver(cloud, permit)
            return _ended(driver.verified(plan, driver.apply(plan)))

    def go_on(self, run: str, permit: Permit) -> RunEnd:
        with self.connect() as cloud:
            plan, driver = read(run, self.folder).plan, self._driver(cloud, permit)
            _refuse_foreign(plan, cloud)
            return _ended(driver.verified(plan, driver.go_on(run)))

    def close(self, run: str) -> bool:
        with self.connect() as cloud:
            return not tell_unsettled(closed(run, cloud, self.folder))

    def _driver(self, cloud: Cloud, permit: Permit) -> Driver:
        pace = Pace(slow_after=SLOW_AFTER_SECONDS, permit=permit)
        known = Origin(unattended=True)
        return Driver(cloud, self.folder, _quietly, pace, known=known, trail=self.trail)


def send_to(sinks: tuple[Sink, ...], message: Message) -> None:
    """Bring a message to all sinks; what goes wrong is said, and stops nothing."""
    again = "The page and the metrics of the watch have the same."
    couriers = Couriers(sinks, complain, message.kind, again)
    couriers.send(message)
    couriers.close()


def _refuse_foreign(plan: Plan, cloud: Cloud) -> None:
    refuse_foreign(plan, [cell.uuid for cell in cloud.nova.cells()])


def _ended(driven: Driven) -> RunEnd:
    return RunEnd(driven.run, driven.outcomes, driven.verified)


def _quietly(*_: object) -> None:
    pass
