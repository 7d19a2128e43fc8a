# SPDX-License-Identifier: Apache-2.0
"""The parts of an expected allocation: four types, one for each degree of certainty."""

from collections.abc import Mapping
from dataclasses import dataclass

from trueup.reconcile.facts import Amounts


@dataclass(frozen=True, slots=True)
class Known:
    """Amounts from one provider. `source` names what requests them: `flavor`, `port 0c72…`."""

    source: str
    amounts: Mapping[str, int]
    provider: str


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """These amounts from one of these providers. If empty, no provider of the host has them."""

    source: str
    amounts: Mapping[str, int]
    providers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotOurs:
    """Amounts that another service allocates. Empty if only that service knows them."""

    source: str
    amounts: Mapping[str, int]
    owner: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """The facts do not show whether something is held, for this reason."""

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
        """The parts whose provider or amount is not certain."""
        return tuple(part for part in self.parts if not isinstance(part, Known))


def open_reason(part: Ambiguous | NotOurs | Unknown, names: Mapping[str, str]) -> str:
    """Why a part is open, as text. `names` maps UUIDs of providers to names."""
    match part:
        case Unknown(reason):
            return reason
        case NotOurs(source, amounts, owner):
            what = ", ".join(sorted(amounts)) or "what it holds"
            return f"{source}: {what} is allocated by {owner}"
        case Ambiguous(source, amounts, ()):
            return f"{source}: its host has no inventory of {', '.join(sorted(amounts))}"
        case Ambiguous(source, amounts, providers):
            several = ", ".join(sorted(names.get(uuid, uuid) for uuid in providers))
            return f"{source}: {', '.join(sorted(amounts))} may come from any of {several}"


def open_reasons(wanted: ExpectedAllocation, names: Mapping[str, str]) -> str:
    """Why the open parts of an expected allocation are open, in words, each reason once."""
    return "; ".join(dict.fromkeys(open_reason(part, names) for part in wanted.open))
