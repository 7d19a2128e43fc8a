# SPDX-License-Identifier: Apache-2.0
"""A policy: what a team lets be repaired, by whom and when. Pure."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, time, timedelta
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Annotated, Literal

import msgspec

from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.verdicts import Severity
from trueup.reconcile.wording import counted

SIGNERS = "/etc/trueup/allowed_signers"
Decision = Literal["never", "approval", "ask", "automatic"]
Way = Literal["adds", "releases", "other"]
Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
PAUSE = "/etc/trueup/pause"
AtLeastOne = Annotated[int, msgspec.Meta(ge=1)]
# The pattern is in the published schema as well.
Clock = Annotated[str, msgspec.Meta(pattern=r"^([01]\d|2[0-3]):[0-5]\d$", max_length=5)]
Names = tuple[str, ...]
_DEFECTS = frozenset(defect.NAME for defect in DEFECTS)


class Case(msgspec.Struct, frozen=True):
    """One thing that a step does: of one finding, in one cell, on one host, for one project.

    None: it is about no cell, host or project. `subjects` is how many the whole plan changes.
    """

    defect: str
    severity: Severity | None
    cell: str | None
    host: str | None
    project: str | None
    direction: Way
    subjects: int


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of a policy's file. A word that it does not know is an error."""


class ApprovalTerms(Part, frozen=True):
    """Who may approve plans, and how many have to.

    `required` counts for every plan. `signers` and `revoked` are files as OpenSSH has them: allowed
    signers, and revoked keys. Unless their path is absolute, they are beside the policy's file.
    `accounts` has the account of a person where it is not the part of the principal before its @.
    """

    required: Annotated[int, msgspec.Meta(ge=0)] = 0
    signers: str = SIGNERS
    revoked: str = ""
    accounts: Mapping[str, str] = {}

    def account_of(self, principal: str) -> str:
        """The account by which a person applies plans."""
        return self.accounts.get(principal, principal.partition("@")[0])


class Rule(Part, frozen=True):
    """A decision, and the cases that it is for: those that fit each condition that is given.

    `cells`, `hosts` and `projects` are names or patterns with * and ?. A case without a host fits
    no rule that names hosts. `approvals` counts for the decision `approval`.
    """

    decision: Decision
    name: str = ""
    approvals: AtLeastOne = 1
    defects: Names = ()
    severities: tuple[Severity, ...] = ()
    cells: Names = ()
    hosts: Names = ()
    projects: Names = ()
    directions: tuple[Way, ...] = ()
    subjects_max: AtLeastOne | None = None

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.defects) - _DEFECTS):
            near = get_close_matches(unknown[0], _DEFECTS, 1)
            meant = f"did you mean {near[0]}? " if near else ""
            raise ValueError(f"there is no defect {unknown[0]}; {meant}'trueup defects' lists all")

    def fits(self, case: Case) -> bool:
        """Whether the rule is for this case."""
        return (
            (not self.defects or case.defect in self.defects)
            and (not self.severities or case.severity in self.severities)
            and (not self.directions or case.direction in self.directions)
            and (self.subjects_max is None or case.subjects <= self.subjects_max)
            and _matches(self.cells, case.cell)
            and _matches(self.hosts, case.host)
            and _matches(self.projects, case.project)
        )

    @property
    def conditions(self) -> Iterator[str]:
        """Its conditions, in words."""
        for name in ("defects", "severities", "cells", "hosts", "projects", "directions"):
            if values := getattr(self, name):
                yield f"{name} {', '.join(values)}"
        if self.subjects_max is not None:
            yield f"at most {counted(self.subjects_max, 'subject')}"


class Window(Part, frozen=True):
    """When plans may be applied: from a time to a time (UTC) of these days; past midnight too."""

    begins: Clock = msgspec.field(name="from")
    ends: Clock = msgspec.field(name="to")
    days: Annotated[tuple[Day, ...], msgspec.Meta(min_length=1)] = DAYS

    def has(self, moment: datetime) -> bool:
        """Whether it is open at this moment. The day is that on which it opens."""
        begins, ends = time.fromisoformat(self.begins), time.fromisoformat(self.ends)
        if begins < ends:
            return DAYS[moment.weekday()] in self.days and begins <= moment.time() < ends
        opened = moment if moment.time() >= begins else moment - timedelta(days=1)
        is_open = moment.time() >= begins or moment.time() < ends
        return is_open and DAYS[opened.weekday()] in self.days

    def __str__(self) -> str:
        return f"{' '.join(self.days)} {self.begins}-{self.ends}"


class Freeze(Part, frozen=True):
    """When nothing may be applied, from a moment until another (UTC unless they say otherwise)."""

    begins: datetime = msgspec.field(name="from")
    ends: datetime = msgspec.field(name="to")
    reason: str = ""

    def __post_init__(self) -> None:
        try:
            begins, ends = _utc(self.begins), _utc(self.ends)
        except OverflowError as error:
            raise ValueError("a freeze is from the year 1 to the year 9999, in UTC") from error
        # SAFETY: it would never hold.
        if ends <= begins:
            raise ValueError(f"the freeze ends before it begins, at {self.ends}")

    def has(self, moment: datetime) -> bool:
        """Whether it holds at this moment."""
        return _utc(self.begins) <= moment < _utc(self.ends)


class Budget(Part, frozen=True):
    """How much is repaired without a person, and what ends that.

    A finding is repaired once so many `rounds` in a row had it with the same evidence. More
    findings than `findings_share` of the consumers, or the file `pause`, stop all repairs. Unless
    its path is absolute, that file is beside the policy's file.
    """

    rounds: Annotated[int, msgspec.Meta(ge=2)] = 3
    subjects_per_hour: AtLeastOne = 5
    subjects_per_day: AtLeastOne = 20
    findings_share: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.01
    pause: str = PAUSE


class Policy(Part, frozen=True):
    """The content of a policy's file.

    The first rule that fits a case decides it. Where none does, `default` decides, or `never` if
    none is given. A policy with neither rules nor a default decides nothing, and its other parts
    still count. Without `automatic`, nothing is repaired without a person.
    """

    default: Decision | None = None
    default_approvals: AtLeastOne = 1
    rules: tuple[Rule, ...] = msgspec.field(name="rule", default=())
    windows: tuple[Window, ...] = msgspec.field(name="window", default=())
    freezes: tuple[Freeze, ...] = msgspec.field(name="freeze", default=())
    approval: ApprovalTerms = ApprovalTerms()
    automatic: Budget | None = None

    def closed(self, moment: datetime) -> Reason | None:
        """Why nothing may be applied at this moment; None if plans may be applied."""
        for freeze in self.freezes:
            if freeze.has(moment):
                until = f"{_utc(freeze.ends):%Y-%m-%d %H:%M}"
                return because("policy-freeze", until=until, reason=freeze.reason)
        if self.windows and not any(window.has(moment) for window in self.windows):
            return because("policy-window", windows=tuple(map(str, self.windows)))
        return None


def _matches(patterns: Names, name: str | None) -> bool:
    if not patterns:
        return True
    return name is not None and any(fnmatchcase(name, pattern) for pattern in patterns)


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
