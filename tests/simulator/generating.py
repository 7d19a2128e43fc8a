# SPDX-License-Identifier: Apache-2.0
"""Histories: lists of events, generated from a seed, and shortened when they show a failure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from tests.simulator.cloud import Cloud, Impossible
from tests.simulator.drifts import DRIFTS, OF_LEDGER
from tests.simulator.events import Event, happen
from tests.simulator.operations.live_migrating import PAST_RETURN
from tests.simulator.places import CONDUCTORS, FLAVORS, HOSTS, METAL_NODES

SERVERS = ("web", "db", "app")
_NAMES = (*SERVERS, "web2", "node")
# The audit reads the next part of the cloud.
READ = Event("read")

_FAILURES = {
    "boot": ("scheduling", "spawn", "h2", "h5"),
    "resize": ("scheduling", "claim", "source", "finish"),
    "live-migrate": ("scheduling", "failed", "error", "cancelled", *PAST_RETURN),
    "revert": ("cast",),
    "evacuate": ("scheduling", "claim", "lost", "started"),
    "unshelve": ("spawn",),
}
# After these Nova does not know where the guest is.
_STRANDING = frozenset({("fails", one) for one in (*PAST_RETURN, "cast", "started", "lost")})
_KINDS = ("live-migration", "migration", "resize", "evacuation")
_LOSES = {"resize", "live-migrate", "confirm", "revert", "detach", "delete"}
_ON_SERVERS = (
    "resize", "resize", "live-migrate", "live-migrate", "evacuate", "evacuate", "confirm",
    "confirm", "revert", "shelve", "unshelve", "attach", "detach", "delete", "soft-delete",
    "restore", "boot", "retry", "retry", "reset", "reset",
)  # fmt: skip
_ON_HOSTS = ("stop", "power-off", "start", "start", "force-down", "unforce-down", "unforce-down")
_ON_SERVICES = ("back-up", "put-back", *3 * ("hide-ports", "show-ports"))
_ON_CELLS = ("freeze", "thaw", "cell-down", "cell-up", "cell-up")


@dataclass(frozen=True, slots=True)
class Mix:
    """The relative frequency of each kind of event, and which options and drifts occur."""

    begin: int = 40
    step: int = 30
    finish: int = 20
    crash: int = 1
    hosts: int = 4
    cells: int = 3
    wait: int = 3
    plant: int = 5
    read: int = 8
    archive: int = 1
    # Placement is put back from a backup, and Neutron hides ports.
    services: int = 0
    # Bare metal is used, and goes from one nova-compute to another.
    metal: int = 6
    # Whether requests to Placement may be lost, so that Nova leaves something wrong.
    loses: bool = True
    # No service dies within an operation, none that was forced down comes back, and nothing is
    # done with a server that has drifted.
    calm: bool = False
    drifts: tuple[str, ...] = tuple(DRIFTS)


# Operations fail, but Nova cleans up. Only evacuations leave something wrong.
HEALTHY = Mix(plant=0, cells=0, crash=0, loses=False, calm=True)
# The same, with planted drift of the ledger.
PLAIN = Mix(cells=0, crash=0, loses=False, calm=True, drifts=OF_LEDGER)
MOVES = Mix(plant=0, cells=0)
DRIFT = Mix(begin=25, plant=12, cells=0)
EVERYTHING = Mix(services=6)
_MIXES = (MOVES, DRIFT, EVERYTHING, PLAIN)

_MAKERS: dict[str, Callable[[Random, Cloud], tuple[Event, ...]]] = {
    "begin": lambda rng, cloud: (_begin(rng),),
    "step": lambda rng, cloud: (Event("step", (rng.choice(_NAMES),)),),
    "finish": lambda rng, cloud: (Event("finish", (rng.choice(_NAMES),)),),
    "crash": lambda rng, cloud: (Event("crash", (rng.choice(_NAMES),)),),
    "hosts": lambda rng, cloud: _host(rng, cloud),
    "cells": lambda rng, cloud: (Event(rng.choice(_ON_CELLS), (rng.choice(("cell1", "cell2")),)),),
    "wait": lambda rng, cloud: (_wait(rng),),
    "read": lambda rng, cloud: _read(rng),
    "archive": lambda rng, cloud: (Event("archive"),),
    "metal": lambda rng, cloud: (_of_metal(rng),),
    "services": lambda rng, cloud: (_on_service(rng),),
}
_ATTEMPTS = 20
# The share of histories in which the cloud comes to rest at the end.
_COMES_TO_REST = 0.6


def history(seed: int, mix: Mix | None = None, length: int = 60) -> tuple[Event, ...]:
    """Some running servers, and then random events. Each was possible when it was drawn.

    Without a mix, the seed chooses one: moves only, mostly drift, everything, or drift of the
    ledger in a cloud that is healthy otherwise.
    """
    rng, cloud = Random(seed), Cloud()
    mix = mix or _MIXES[seed % len(_MIXES)]
    events: list[Event] = []
    for name in SERVERS[: rng.randint(1, len(SERVERS))]:
        _extend(events, (_boot(rng, name, fails=False), Event("finish", (name,))), cloud)
    kinds = (*_MAKERS, "plant")
    weights = [getattr(mix, kind) for kind in kinds]
    for _ in range(rng.randint(5, length)):
        [kind] = rng.choices(kinds, weights)
        any(_extend(events, _drawn(kind, rng, mix, cloud), cloud) for _ in range(_ATTEMPTS))
    if rng.random() < _COMES_TO_REST:
        for event in _ending(rng, cloud):
            _extend(events, _allowed((event,), mix, cloud), cloud)
    return tuple(events)


def _ending(rng: Random, cloud: Cloud) -> Iterator[Event]:
    """The cloud comes to rest, so that the last audit finds something and plans it.

    Of some histories the last audit is over before something else happens and its plan is applied.
    """
    for cell in cloud.cells:
        yield from (Event("cell-up", (cell,)), Event("thaw", (cell,)))
    for name in _NAMES:
        yield Event("finish", (name,))
    yield Event("wait", ("700",))
    if rng.random() < 0.5:
        yield Event("read", ("apply",))
        for _ in range(rng.randint(1, 3)):
            yield rng.choice(
                (*_host(rng, cloud), _begin(rng), Event("step", (rng.choice(_NAMES),)))
            )


def _read(rng: Random) -> tuple[Event, ...]:
    return (Event("read", ("apply",)),) if rng.random() < 0.1 else (READ,) * rng.randint(1, 8)


def _drawn(kind: str, rng: Random, mix: Mix, cloud: Cloud) -> tuple[Event, ...]:
    if kind == "plant":
        return (Event("plant", (rng.choice(_NAMES), rng.choice(mix.drifts))),)
    return _allowed(_MAKERS[kind](rng, cloud), mix, cloud)


def _allowed(drawn: tuple[Event, ...], mix: Mix, cloud: Cloud) -> tuple[Event, ...]:
    """These events as they may happen in a mix; none if one of them may not."""
    if mix.calm and not all(_is_calm(event, cloud) for event in drawn):
        return ()
    return drawn if mix.loses else tuple(_without_loss(event) for event in drawn)


def _is_calm(event: Event, cloud: Cloud) -> bool:
    if event.verb == "unforce-down" or event.verb in _HARMS_METAL:
        return False
    if event.verb in ("stop", "power-off"):
        host = HOSTS[event.words[0]]
        return not any(one.operation and host in one.working for one in cloud.servers.values())
    server = cloud.servers.get(event.words[0]) if event.words else None
    goes_on = event.verb in ("step", "finish", "plant")
    if server is None or goes_on:
        return True
    return not cloud.is_wrong(server.uuid) and len(cloud.acceptable_to(server.uuid)) == 1


def _without_loss(event: Event) -> Event:
    kept = tuple(pair for pair in event.options if pair != ("lost", "1") and pair not in _STRANDING)
    return Event(event.verb, event.words, kept)


def _extend(events: list[Event], more: Sequence[Event], cloud: Cloud) -> bool:
    """Add these events up to the first that is impossible. False: none was added."""
    for event in more:
        try:
            if event.verb != READ.verb:
                happen(event, cloud)
        except Impossible:
            return event is not more[0]
        events.append(event)
    return bool(more)


def _host(rng: Random, cloud: Cloud) -> tuple[Event, ...]:
    """Something happens to a host; often it stays down, and a server is evacuated from it."""
    wait = Event("wait", ("61",))
    placed = [one for one in cloud.servers.values() if one.host and one.settled]
    if placed and rng.random() < 0.4:
        server = rng.choice(placed)
        host = server.host or HOSTS["h1"]
        target = rng.choice([one for one in HOSTS.values() if one.cell == host.cell])
        stop = Event(rng.choice(("stop", "power-off", "force-down")), (host.name,))
        evacuation = Event("evacuate", (server.name, target.name), _options(rng, "evacuate"))
        return (stop, wait, evacuation, Event("finish", (server.name,)))
    event = Event(rng.choice(_ON_HOSTS), (rng.choice(tuple(HOSTS)),))
    return (event, wait) if rng.random() < 0.6 else (event,)


def _wait(rng: Random) -> Event:
    return Event("wait", (str(rng.choice((5, 61, 120, 700, 4000))),))


def _on_service(rng: Random) -> Event:
    verb = rng.choice(_ON_SERVICES)
    return Event(verb, (rng.choice(SERVERS),) if verb == "hide-ports" else ())


_ON_METAL = (
    *3 * ("boot-metal",), *2 * ("stop-metal", "start-metal", "take-over", "follow"),
    "lose-node", "lose-claim", "delete-service",
)  # fmt: skip
# These leave something wrong, or Nova's databases without a nova-compute for good.
_HARMS_METAL = frozenset({"lose-node", "lose-claim", "delete-service", "stop-metal"})


def _of_metal(rng: Random) -> Event:
    verb, node = rng.choice(_ON_METAL), rng.choice(tuple(METAL_NODES))
    conductor = rng.choice(CONDUCTORS)
    match verb:
        case "boot-metal":
            return Event(verb, ("node", node))
        case "lose-claim":
            return Event(verb, ("node",))
        case "follow" | "lose-node":
            return Event(verb, (node,))
        case "take-over":
            return Event(verb, (node, conductor))
        case _:
            return Event(verb, (conductor,))


def _begin(rng: Random) -> Event:
    verb, name = rng.choice(_ON_SERVERS), rng.choice(_NAMES)
    if verb == "boot":
        return _boot(rng, "web2", fails=True)
    words: tuple[str, ...] = (name,)
    if verb in ("resize", "live-migrate", "evacuate", "unshelve", "retry"):
        words = (name, rng.choice(tuple(HOSTS)))
    if verb == "retry":
        words = (*words, rng.choice(_KINDS))
    if verb == "resize" and rng.random() < 0.7:
        words = (*words, rng.choice(tuple(FLAVORS)))
    return Event(verb, words, _options(rng, verb))


def _boot(rng: Random, name: str, fails: bool) -> Event:
    words = (name, rng.choice(tuple(HOSTS)), rng.choice(tuple(FLAVORS)))
    options = _options(rng, "boot") if fails else ()
    return Event("boot", words, (*options, ("volume", "1")) if rng.random() < 0.1 else options)


def _options(rng: Random, verb: str) -> tuple[tuple[str, str], ...]:
    options: tuple[tuple[str, str], ...] = ()
    if verb in _FAILURES and rng.random() < 0.4:
        options = (("fails", rng.choice(_FAILURES[verb])),)
    if verb in _LOSES and rng.random() < 0.25:
        options = (*options, ("lost", "1"))
    return options


def shortened(
    events: Sequence[Event], still: Callable[[Sequence[Event]], bool]
) -> tuple[Event, ...]:
    """The shortest history for which `still` is true, found by leaving out events."""
    kept, size = list(events), max(1, len(events) // 2)
    while True:
        start = 0
        while start < len(kept):
            fewer = kept[:start] + kept[start + size :]
            if still(fewer):
                kept = fewer
            else:
                start += size
        if size == 1:
            plain = [_plain(event) for event in kept]
            return tuple(plain if still(plain) else kept)
        size = max(1, size // 2)


def _plain(event: Event) -> Event:
    """The same event with the simplest flavor."""
    words = tuple("small" if word in FLAVORS and event.verb == "boot" else word
                  for word in event.words)  # fmt: skip
    return Event(event.verb, words, event.options)
