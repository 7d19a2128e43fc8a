# SPDX-License-Identifier: Apache-2.0
"""The verdicts of an audit: findings, subjects not checked, and subjects left alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal

from trueup.reconcile.facts import Amounts, ComputeService, Domain, Facts, Instance
from trueup.reconcile.reasons import Reason, Scalar, Structure

Kind = Literal[
    "instance", "consumer", "migration", "build", "provider", "host", "service", "cell", "port",
    "domain", "class",
]  # fmt: skip


# The kinds of subjects that are consumers: Placement keeps allocations by their uuid.
CONSUMERS: frozenset[Kind] = frozenset({"instance", "consumer", "migration", "build"})


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """The thing that a verdict is about. Hosts and cells have their name in place of a uuid."""

    kind: Kind
    uuid: str

    def __str__(self) -> str:
        return f"{self.kind} {self.uuid}"


class Severity(StrEnum):
    """How bad a defect is for the cloud, worst first."""

    CRITICAL = "critical"  # a running instance may lose its resources, or a host is over-full
    HIGH = "high"  # Placement counts wrongly: new instances are placed or refused wrongly
    MEDIUM = "medium"  # capacity is lost, or an operation will fail
    LOW = "low"  # untidy, and without effect until something else happens


# A word, a number, a time as ISO 8601, a mapping, or a row of mappings, as `holding` makes.
Value = Scalar | Structure | tuple[Structure, ...]
Evidence = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect in one subject.

    `since` is when it began, if the facts show it. `evidence` has the facts it rests on, by label,
    as values that programs can use; reports put them into words. `consumers` are those whose
    allocations the remedy may change besides the subject's. `may_pass_within` is for how many
    seconds a healthy cloud may look like this, while Nova is between two requests. It is no
    evidence: it changes by time alone.
    """

    defect: str
    subject: Subject
    where: str
    severity: Severity
    evidence: Evidence
    since: datetime | None = None
    consumers: tuple[str, ...] = ()
    may_pass_within: int = field(default=0, compare=False)

    @property
    def id(self) -> str:
        """An id that is the same in every audit while the defect lasts."""
        return f"{self.defect}:{self.subject.uuid}"


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A subject that cannot be judged, and why. `ends`: what ends it, if it hangs."""

    subject: Subject
    where: str
    reason: Reason
    ends: str = ""


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """A subject that looks unusual or is in motion, and why Trueup does not touch it.

    `since`: when Nova last changed it, if it is in motion. `ends`: what ends it, if it cannot end
    by itself.
    """

    subject: Subject
    where: str
    reason: Reason
    since: datetime | None = None
    ends: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence about an instance or consumer without a verdict.

    `right`: it holds what it should. Otherwise it was not checked for this reason, which another
    verdict, for example about its host, reports once for all.
    """

    subject: Subject
    where: str
    reason: Reason
    right: bool


Verdict = Finding | Unchecked | LeftAlone


@dataclass(frozen=True, slots=True)
class IfComplete:
    """A finding that needs complete evidence, of a defect whose other findings do not."""

    finding: Finding


def instance_evidence(instance: Instance, facts: Facts) -> Structure:
    """An instance as evidence: its name, where it is, and in which state."""
    deleted = {"deleted_at": _moment(instance.deleted_at)} if instance.deleted else {}
    return {
        "name": instance.name,
        "vm_state": "deleted" if instance.deleted else instance.vm_state,
        "host": instance.host,
        "cell": facts.cells[instance.cell],
        **deleted,
    }


def domains_evidence(domains: Iterable[Domain]) -> tuple[Structure, ...]:
    """Domains as evidence: the host and state of each."""
    ordered = sorted(domains, key=lambda domain: (domain.host, domain.name))
    return tuple(
        {"name": domain.name, "host": domain.host, "state": domain.state} for domain in ordered
    )


def service_evidence(services: Iterable[ComputeService], now: datetime) -> Structure:
    """The newest compute service of a host as evidence: when last seen, and if forced down.

    The time of a service that still reports is not evidence, because every audit finds another.
    """
    seen = [service for service in services if service.last_seen is not None]
    if not seen:
        return {"last_seen": None}
    newest = max(seen, key=lambda service: (service.last_seen, service.host))
    last = "it still reports" if newest.reports(now) else _moment(newest.last_seen)
    return {"last_seen": last} | ({"forced_down": "yes"} if newest.forced_down else {})


def _moment(moment: datetime | None) -> str | None:
    return moment.isoformat(sep=" ", timespec="seconds") if moment else None


def holding(amounts: Amounts, names: Mapping[str, str]) -> tuple[Structure, ...]:
    """Amounts as evidence: a row for each provider, in the order of their names.

    `{"provider": "0f3c…", "name": "devstack1", "resources": {"VCPU": 1, "MEMORY_MB": 64}}`
    """
    ordered = sorted((names.get(uuid, uuid), uuid, held) for uuid, held in amounts.items())
    return tuple(
        {"provider": uuid, "name": name, "resources": in_order(held)}
        for name, uuid, held in ordered
    )


def in_order(amounts: Mapping[str, int]) -> dict[str, int]:
    """These amounts, with the three classes that every host has first, in Nova's order."""
    first = ("VCPU", "MEMORY_MB", "DISK_GB")
    order = [name for name in first if name in amounts] + sorted(set(amounts) - set(first))
    return {name: amounts[name] for name in order}


def amounts_in_words(amounts: Amounts, names: Mapping[str, str]) -> str:
    """`VCPU=1 MEMORY_MB=64 on devstack1`, providers in the order of their names."""
    ordered = sorted((names.get(uuid, uuid), held) for uuid, held in amounts.items())
    return "; ".join(f"{plain_words(held)} on {name}" for name, held in ordered)


def plain_words(amounts: Mapping[str, int]) -> str:
    """`VCPU=1 MEMORY_MB=64 DISK_GB=1`."""
    return " ".join(f"{name}={amount}" for name, amount in in_order(amounts).items())
