# SPDX-License-Identifier: Apache-2.0
"""What an audit says: findings, what could not be checked, and what was left alone."""

from collections.abc import Mapping
from dataclasses import dataclass

from trueup.reconcile.facts import Amounts


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect in one subject (a consumer's uuid), with its evidence in words, by label."""

    defect: str
    subject: str
    where: str
    evidence: Mapping[str, str]

    @property
    def id(self) -> str:
        """The same in every run for as long as the defect is there."""
        return f"{self.defect}:{self.subject}"


@dataclass(frozen=True, slots=True)
class Unchecked:
    """Something of which it cannot be said whether it is right, and why."""

    subject: str
    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """Something that looks odd or moves, and is not touched, and why."""

    subject: str
    where: str
    reason: str


Verdict = Finding | Unchecked | LeftAlone


def amounts_in_words(amounts: Amounts, names: Mapping[str, str]) -> str:
    """`VCPU=1 MEMORY_MB=64 on devstack1`, providers in the order of their names."""
    ordered = sorted((names.get(uuid, uuid), held) for uuid, held in amounts.items())
    return "; ".join(f"{plain_words(held)} on {name}" for name, held in ordered)


def plain_words(amounts: Mapping[str, int]) -> str:
    """`VCPU=1 MEMORY_MB=64 DISK_GB=1`: the three classes every host has first, in Nova's order."""
    first = ("VCPU", "MEMORY_MB", "DISK_GB")
    order = [name for name in first if name in amounts] + sorted(set(amounts) - set(first))
    return " ".join(f"{name}={amounts[name]}" for name in order)
