# SPDX-License-Identifier: Apache-2.0
"""Plan: findings → ordered, guarded steps, complete in themselves, and the file that holds them."""

import hashlib
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.facts import Facts
from trueup.reconcile.findings import Finding
from trueup.reconcile.steps import Step

FORMAT = 1

# Design, invariant 14: a plan that changes more is stopped until the limit is raised by name.
STEPS_MAX = 25
CONSUMERS_SHARE_MAX = 0.01


@dataclass(eq=False)
class PlanUnreadable(Exception):
    """The file is not a plan that this version can read."""

    path: str
    reason: str


@dataclass(eq=False)
class PlanUnwritable(Exception):
    """The plan's file cannot be written."""

    path: str
    reason: str


@dataclass(eq=False)
class PlanEdited(Exception):
    """The file is a plan, but not as it was saved."""

    path: str


@dataclass(eq=False)
class PlanStale(Exception):
    """The plan is older than it may be."""

    made_at: datetime
    age: timedelta
    age_max: timedelta


@dataclass(eq=False)
class PlanForeign(Exception):
    """The plan was made for another cloud; the cells (by uuid) are not the same."""

    planned: tuple[str, ...]
    found: tuple[str, ...]


@dataclass(eq=False)
class LimitExceeded(Exception):
    """The plan has more steps than it may change at once."""

    steps: int
    limit: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in order, with what they were made from. `cells` says which cloud it is for."""

    made_at: datetime
    first_look_at: datetime
    cells: tuple[str, ...]
    consumers: int
    findings: tuple[Finding, ...]
    steps: tuple[Step, ...]
    undoes: str | None = None
    format: int = FORMAT

    @property
    def id(self) -> str:
        """A short name made from the whole content."""
        return f"{self.made_at:%Y%m%dT%H%M%S}-{_digest(msgspec.json.encode(self))[:8]}"

    @property
    def steps_max(self) -> int:
        """How many steps may be applied without raising the limit by name."""
        return max(STEPS_MAX, int(self.consumers * CONSUMERS_SHARE_MAX))


class _File(msgspec.Struct):
    digest: str
    plan: msgspec.Raw


def make_plan(findings: Iterable[Finding], facts: Facts, first_look_at: datetime) -> Plan:
    """Ask the remedy of each finding. Findings whose remedy does not apply any more give no step.

    `facts` hold the holdings of every finding's subject.
    """
    remedies: dict[str, Callable[[Finding, Facts], tuple[Step, ...]]] = {
        defect.NAME: defect.remedy for defect in DEFECTS
    }
    by_consumer: dict[str, Step] = {}
    kept = []
    for finding in findings:
        holding = facts.holdings[finding.subject].allocations
        if (holding.amounts if holding else {}) != facts.consumers.get(finding.subject, {}):
            continue  # it changed since the second look
        steps = remedies[finding.defect](finding, facts)
        # SAFETY: two remedies for one consumer would each undo the other's replace; the first
        # decides, and the next audit sees what is left.
        if not steps or any(step.consumer in by_consumer for step in steps):
            continue
        by_consumer.update({step.consumer: step for step in steps})
        kept.append(finding)
    return Plan(
        made_at=facts.taken_at,
        first_look_at=first_look_at,
        cells=tuple(sorted(facts.cells)),
        consumers=len(facts.consumers),
        findings=tuple(kept),
        steps=_ordered(by_consumer.values()),
    )


def save(plan: Plan, path: Path) -> None:
    """Write the plan to a file, readable by people; it is there whole or not at all.

    Raises PlanUnwritable.
    """
    content = msgspec.json.encode(plan)
    text = msgspec.json.format(
        msgspec.json.encode(_File(digest=_digest(content), plan=msgspec.Raw(content))), indent=2
    )
    half = path.with_name(f".{path.name}.half")
    try:
        with half.open("wb") as file:
            file.write(text + b"\n")
            file.flush()
            os.fsync(file.fileno())
        half.replace(path)
    except OSError as error:
        with suppress(OSError):
            half.unlink(missing_ok=True)
        raise PlanUnwritable(str(path), error.strerror or str(error)) from error


def load(path: Path) -> Plan:
    """Read a plan back.

    Raises PlanUnreadable, or PlanEdited when its digest is not that of its content.
    """
    try:
        file = msgspec.json.decode(path.read_bytes(), type=_File)
        plan = msgspec.json.decode(file.plan, type=Plan)
    except OSError as error:
        raise PlanUnreadable(str(path), error.strerror or str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PlanUnreadable(str(path), f"it is not a plan ({error})") from error
    if plan.format != FORMAT:
        raise PlanUnreadable(str(path), f"its format is {plan.format}, this Trueup reads {FORMAT}")
    # Of the text itself, without its line breaks: what was read into `plan` lacks what it did not
    # understand.
    if _digest(msgspec.json.format(bytes(file.plan), indent=-1)) != file.digest:
        raise PlanEdited(str(path))
    return plan


def refuse_unfit(plan: Plan, cells: Iterable[str], now: datetime, age_max: timedelta) -> None:
    """Raise PlanForeign or PlanStale when the plan is not for this cloud at this time."""
    refuse_foreign(plan, cells)
    age = now - plan.made_at
    if age > age_max:
        raise PlanStale(plan.made_at, age, age_max)


def refuse_foreign(plan: Plan, cells: Iterable[str]) -> None:
    """Raise PlanForeign when the plan is for another cloud."""
    found = tuple(sorted(cells))
    if plan.cells != found:
        raise PlanForeign(plan.cells, found)


def refuse_too_large(plan: Plan, steps_max: int | None) -> None:
    """Raise LimitExceeded when the plan has more steps than its own limit, or the one named."""
    limit = plan.steps_max if steps_max is None else steps_max
    if len(plan.steps) > limit:
        raise LimitExceeded(len(plan.steps), limit)


def in_reverse(plan: Plan, steps: Iterable[Step]) -> Plan:
    """A plan of these steps for the same cloud, that undoes `plan`."""
    return replace(plan, steps=tuple(steps), undoes=plan.id)


def _ordered(steps: Iterable[Step]) -> tuple[Step, ...]:
    """What releases first, then what needs room."""
    return tuple(sorted(steps, key=lambda step: (bool(step.guard.provider_generations), step.id)))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
