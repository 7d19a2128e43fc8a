# SPDX-License-Identifier: Apache-2.0
"""The parts of an expected allocation: four types, one for each degree of certainty."""

from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache

import msgspec

from trueup.reconcile.facts import PORT_CLASSES, Amounts
from trueup.reconcile.reasons import Reason, because, together


class Share(Enum):
    """The shares of an allocation: each has its own causes, and so its own defects."""

    HOST = "processors, memory and disk"
    PORTS = "bandwidth and packet rate of ports"
    DEVICES = "devices, and every class that is not a host's or a port's"


_HOST_CLASSES = frozenset({"VCPU", "PCPU", "MEMORY_MB", "DISK_GB", "MEM_ENCRYPTION_CONTEXT"})


@cache
def share_of(resource_class: str) -> Share:
    """The share to which a resource class belongs."""
    if resource_class in _HOST_CLASSES:
        return Share.HOST
    return Share.PORTS if resource_class.startswith(PORT_CLASSES) else Share.DEVICES


def held_of(share: Share, amounts: Amounts) -> Amounts:
    """One share of these amounts."""
    found: dict[str, dict[str, int]] = {}
    for uuid, row in amounts.items():
        mine = {name: amount for name, amount in row.items() if share_of(name) is share}
        if mine:
            found[uuid] = mine
    return found


class Known(msgspec.Struct, frozen=True):
    """Amounts from one provider. `source` names the requester: `flavor`, `port 0c72…`."""

    source: str
    amounts: Mapping[str, int]
    provider: str


class Ambiguous(msgspec.Struct, frozen=True):
    """Amounts from one of these providers. Without providers: the host cannot give them."""

    source: str
    amounts: Mapping[str, int]
    providers: tuple[str, ...]


class NotOurs(msgspec.Struct, frozen=True):
    """Amounts that another service allocates. Empty if only that service knows them."""

    source: str
    amounts: Mapping[str, int]
    owner: str


class Unknown(msgspec.Struct, frozen=True):
    """The facts do not show, for this reason, whether these shares have further amounts."""

    reason: Reason
    shares: frozenset[Share] = frozenset(Share)


ExpectedPart = Known | Ambiguous | NotOurs | Unknown


class ExpectedAllocation(msgspec.Struct, frozen=True):
    """All amounts that one consumer (an instance or a migration) should hold.

    PERF: every instance has one, with its parts, and a struct takes a tenth of the time of a
    dataclass.
    """

    consumer: str
    parts: tuple[ExpectedPart, ...]

    @property
    def known(self) -> Amounts:
        """The sum of the parts that are known, by provider."""
        total: dict[str, Mapping[str, int]] = {}
        for part in self.parts:
            if isinstance(part, Known):
                held = total.get(part.provider)
                # PERF: most parts are the only one of their provider, and need no copy.
                total[part.provider] = _sum(held, part.amounts) if held else part.amounts
        return total

    def of(self, share: Share) -> "ExpectedAllocation":
        """One share of it. Amounts of other services belong to the share of devices."""
        return ExpectedAllocation(self.consumer, tuple(_parts_of(share, self.parts)))

    @property
    def providers(self) -> frozenset[str]:
        """Every provider that any part names."""
        known = {part.provider for part in self.parts if isinstance(part, Known)}
        return frozenset(known).union(
            *(part.providers for part in self.parts if isinstance(part, Ambiguous))
        )

    @property
    def open(self) -> tuple[Ambiguous | NotOurs | Unknown, ...]:
        """The parts whose provider or amount is not certain."""
        return tuple([part for part in self.parts if not isinstance(part, Known)])


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> Mapping[str, int]:
    return {**one, **{name: one.get(name, 0) + amount for name, amount in other.items()}}


def _parts_of(share: Share, parts: tuple[ExpectedPart, ...]) -> Iterator[ExpectedPart]:
    for part in parts:
        match part:
            case Unknown(_, shares):
                if share in shares:
                    yield part
            case NotOurs():
                if share is Share.DEVICES:
                    yield part
            case Known() | Ambiguous():
                mine = {
                    name: amount for name, amount in part.amounts.items() if share_of(name) is share
                }
                if mine:
                    yield msgspec.structs.replace(part, amounts=mine)


def open_reason(part: Ambiguous | NotOurs | Unknown, names: Mapping[str, str]) -> Reason:
    """Why a part is open. `names` maps UUIDs of providers to names."""
    match part:
        case Unknown(reason, _):
            return reason
        case NotOurs(source, amounts, owner):
            classes = tuple(sorted(amounts))
            return because("other-allocates", source=source, classes=classes, owner=owner)
        case Ambiguous(source, amounts, ()):
            return because("class-not-on-host", source=source, classes=tuple(sorted(amounts)))
        case Ambiguous(source, amounts, providers):
            several = tuple(sorted(names.get(uuid, uuid) for uuid in providers))
            return because(
                "several-providers",
                source=source,
                classes=tuple(sorted(amounts)),
                providers=several,
            )


def open_reasons(wanted: ExpectedAllocation, names: Mapping[str, str]) -> Reason | None:
    """Why parts of an expected allocation are open; None if all are known."""
    return together(open_reason(part, names) for part in wanted.open)
