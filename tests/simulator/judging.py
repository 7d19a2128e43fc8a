# SPDX-License-Identifier: Apache-2.0
"""The oracle: judges a plan's changes by the truth of the simulator, not by the product's rules."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.simulator.changes import Change, Step, changed, in_words
from tests.simulator.cloud import Cloud, Server
from tests.simulator.places import HOSTS
from tests.simulator.rows import PROJECT, USER, Amounts


@dataclass(frozen=True, slots=True)
class Truth:
    """What is true of one consumer at one moment.

    `rights` are the holdings that are right. `hands_off` is the reason why nobody may change it
    now, or empty. `running` are the providers of the hosts on which its guest runs. `held` is what
    it holds, and `server` the uuid of the server for which it does.
    """

    rights: tuple[Amounts, ...]
    hands_off: str
    running: frozenset[str] = frozenset()
    held: Amounts = field(default_factory=dict)
    server: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """The truth about every consumer at one moment."""

    truths: dict[str, Truth]

    def wrong(self, step: Step) -> str:
        """Why the step is wrong at this moment, as a sentence; empty if it is right."""
        reasons = (self._wrong(change, step) or self._doubling(change, step) for change in step)
        return next(filter(None, reasons), "")

    def _doubling(self, change: Change, step: Step) -> str:
        """Whether all consumers of the server together would hold too much.

        That is more of something than before the step, and more than is right.
        """
        server = self.truths[change.consumer].server
        mine = {uuid: one for uuid, one in self.truths.items() if one.server == server}
        written = {one.consumer: one.after.amounts if one.after else {} for one in step}
        before = _sum(one.held for one in mine.values())
        after = _sum(written.get(uuid, one.held) for uuid, one in mine.items())
        right: Counter[tuple[str, str]] = Counter()
        for one in mine.values():
            # After a failed resize, either of two holdings is right.
            right += _most(one.rights)
        if any(amount > max(before[key], right[key]) for key, amount in after.items()):
            return f"{changed(change)}, which another consumer of the server holds already"
        return ""

    def _given(self, server: str, step: Step) -> set[str]:
        """The providers that the consumers of a server hold after a step, one for another.

        Where they hold of a host itself, also its network card: how much is judged by amounts.
        """
        written = {one.consumer: one.after.amounts if one.after else {} for one in step}
        mine = (uuid for uuid, one in self.truths.items() if one.server == server)
        held = {uuid for one in mine for uuid in written.get(one, self.truths[one].held)}
        return held | {uuid for one in HOSTS.values() if one.root in held for uuid in one.tree}

    def _wrong(self, change: Change, step: Step) -> str:
        truth = self.truths.get(change.consumer)
        if truth is None:
            return f"{changed(change)}, which is of no known owner"
        if truth.hands_off:
            return f"{changed(change)}, and {truth.hands_off}"
        if _is_disowned(change):
            return f"{changed(change)}, and its owner becomes another"
        before = change.before.amounts if change.before else {}
        after = change.after.amounts if change.after else {}
        released = before.keys() - after.keys() - self._given(truth.server, step)
        # A card alone may be released, for a port that is gone: the host itself is still held.
        released -= {host.card for host in HOSTS.values() if host.root in after}
        if change.before == change.after:
            return f"{changed(change)}, as it does already"
        if truth.running & released:
            return f"{changed(change)}, and its guest runs there"
        if not any(is_nearer(before, after, right) for right in truth.rights):
            return f"{changed(change)}; right is {' or '.join(map(in_words, truth.rights))}"
        return ""


def _sum(holdings: Iterable[Amounts]) -> Counter[tuple[str, str]]:
    total: Counter[tuple[str, str]] = Counter()
    for amounts in holdings:
        for uuid, held in amounts.items():
            total.update({(uuid, kind): amount for kind, amount in held.items()})
    return total


def _most(rights: Iterable[Amounts]) -> Counter[tuple[str, str]]:
    """The most of each class of each provider that any of these holdings has."""
    most: Counter[tuple[str, str]] = Counter()
    for amounts in rights:
        most |= _sum((amounts,))
    return most


def is_nearer(before: Amounts, after: Amounts, right: Amounts) -> bool:
    """Whether each amount stays as it is or moves towards the right amount."""
    if before == after:
        return before == right
    return all(
        min(was, should) <= becomes <= max(was, should)
        for was, becomes, should in _compared(before, after, right)
    )


def _compared(*sides: Amounts) -> Iterator[tuple[int, int, int]]:
    keys = {(uuid, kind) for side in sides for uuid, held in side.items() for kind in held}
    for uuid, kind in keys:
        was, becomes, should = (side.get(uuid, {}).get(kind, 0) for side in sides)
        yield was, becomes, should


def _is_disowned(change: Change) -> bool:
    """Whether the change sets an owner that is neither the right one nor the present one."""
    if change.after is None:
        return False
    after = (change.after.project, change.after.user)
    before = (change.before.project, change.before.user) if change.before else None
    return after not in ((PROJECT, USER), before)


class Judge:
    """Reads the truth from a cloud. `hypervisors`: whether the audit knows where guests run."""

    def __init__(self, cloud: Cloud, hypervisors: bool) -> None:
        self._cloud = cloud
        self._hypervisors = hypervisors

    def now(self) -> Moment:
        """The truth at this moment."""
        cloud = self._cloud
        truths = {consumer: Truth(({},), "it is another service's") for consumer in cloud.foreign}
        for server in cloud.servers.values():
            hands_off = _hands_off(cloud, server, self._hypervisors)
            running = self._running(server.uuid)
            for consumer in cloud.consumers_of(server):
                held = cloud.held(consumer)
                rights = cloud.acceptable_to(consumer)
                truths[consumer] = Truth(rights, hands_off, running, held, server.uuid)
        return Moment(truths)

    def _running(self, uuid: str) -> frozenset[str]:
        if not self._hypervisors:
            return frozenset()
        hosts = (HOSTS[host] for guest, host in self._cloud.guests if guest == uuid)
        return frozenset(provider for host in hosts for provider in host.tree)


def _hands_off(cloud: Cloud, server: Server, hypervisors: bool) -> str:
    if server.busy:
        return f"an operation of Nova is under way ({server.doing or 'its service died'})"
    for cell in cloud.cells.values():
        for move in cell.migrations.values():
            if move.server != server.uuid or move.kind != "evacuation":
                continue
            # Nova has deleted it with the server: no nova-compute asks for it.
            if move.deleted or move.archived:
                continue
            source = HOSTS[move.source]
            runs = (server.uuid, source.name) in cloud.guests
            if hypervisors and not runs and source.name not in cloud.off:
                # A hypervisor that answers and has no domain of it is proof.
                continue
            if move.status == "done" and cloud.is_up(source) and source != server.host:
                return f"the nova-compute of {source.name}, which it was evacuated from, is up"
    return ""
