# SPDX-License-Identifier: Apache-2.0
"""What can be said of a part of an expected allocation: four kinds, each with its own certainty."""

from collections.abc import Mapping
from dataclasses import dataclass

from trueup.reconcile.facts import Amounts


@dataclass(frozen=True, slots=True)
class Known:
    """This much of this provider. `source` names what asks for it, as `flavor` or `port 0c72…`."""

    source: str
    amounts: Mapping[str, int]
    provider: str


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """This much, of one of these providers; without any, no provider of the host has it."""

    source: str
    amounts: Mapping[str, int]
    providers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotOurs:
    """Held rightly, by another service's doing; `amounts` is empty where only that one knows."""

    source: str
    amounts: Mapping[str, int]
    owner: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something may be held that cannot be told, for this reason."""

    reason: str


ExpectedPart = Known | Ambiguous | NotOurs | Unknown


@dataclass(frozen=True, slots=True)
class ExpectedAllocation:
    """All that one consumer (an instance, or the migration of one) should hold."""

    consumer: str
    parts: tuple[ExpectedPart, ...]

    @property
    def known(self) -> Amounts:
        """The sum of the parts that are known, by provider."""
        total: dict[str, dict[str, int]] = {}
        for part in self.parts:
            if isinstance(part, Known):
                held = total.setdefault(part.provider, {})
                for name, amount in part.amounts.items():
                    held[name] = held.get(name, 0) + amount
        return total

    @property
    def providers(self) -> frozenset[str]:
        """Every provider that any part names."""
        known = {part.provider for part in self.parts if isinstance(part, Known)}
        return frozenset(known).union(
            *(one.providers for one in self.parts if isinstance(one, Ambiguous))
        )

    @property
    def open(self) -> tuple[Ambiguous | NotOurs | Unknown, ...]:
        """The parts that are not known to the last provider and amount."""
        return tuple(part for part in self.parts if not isinstance(part, Known))


def open_reason(part: Ambiguous | NotOurs | Unknown, names: Mapping[str, str]) -> str:
    """Why a part is open, in words; `names` of providers by uuid."""
    match part:
        case Unknown(reason):
            return reason
        case NotOurs(source, amounts, owner):
            what = ", ".join(sorted(amounts)) or "what it holds"
            return f"{source}: {what} is for {owner} to give"
        case Ambiguous(source, amounts, ()):
            return f"{source}: its host has no inventory of {', '.join(sorted(amounts))}"
        case Ambiguous(source, amounts, providers):
            several = ", ".join(sorted(names.get(uuid, uuid) for uuid in providers))
            return f"{source}: {', '.join(sorted(amounts))} may come from any of {several}"
