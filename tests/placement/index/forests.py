# SPDX-License-Identifier: Apache-2.0
"""Random clouds of realistic shapes, and random requests to them.

Small enough to try everything: about ten providers, up to four groups. Plain randomness, because
libraries that shrink failures nearly always request resources that no provider has.
"""

import random
from collections.abc import Sequence

from tests.placement.index.clouds import SHARES, Host
from trueup.model.requests import CandidateRequest, RequestGroup

TRAITS = ("FAST", "SMALL")
AGGREGATES = ("rack", "pool")
CLASSES_OF = {
    "flat": ("VCPU", "DISK_GB"),
    "numa": ("VCPU", "DISK_GB", "SRIOV_NET_VF"),
    "pci": ("VCPU", "PGPU"),
    "bandwidth": ("VCPU", "SRIOV_NET_VF", "MEMORY_MB"),
    "sharing": ("VCPU", "DISK_GB"),
    "odd": ("VCPU", "DISK_GB", "SRIOV_NET_VF"),
}
"""The classes to request; in `bandwidth`, MEMORY_MB stands for the bandwidth of a card."""
SHAPES = tuple(CLASSES_OF)
SUFFIXES = (("",), ("",), ("_A",), ("_A", "_B"), ("", "_A"), ("", "_A", "_B"), ("_A", "_B", "_C"))


def draw_forest(
    source: random.Random, shapes: Sequence[str] = SHAPES
) -> tuple[list[Host], list[str]]:
    """One to three hosts of one shape or of several, and the classes that there are."""
    first, mixed = source.choice(shapes), source.random() < 0.3
    count = source.choice((1, 1, 2) if first in ("numa", "odd") else (1, 2, 3))
    chosen = [first, *(source.choice(shapes) if mixed else first for _ in range(count - 1))]
    cloud = [
        provider for n, shape in enumerate(chosen) for provider in _host(source, shape, f"host{n}")
    ]
    return cloud, list(dict.fromkeys(name for shape in chosen for name in CLASSES_OF[shape]))


def draw_request(
    source: random.Random,
    cloud: Sequence[Host],
    classes: Sequence[str],
    suffixes: Sequence[tuple[str, ...]] = SUFFIXES,
) -> CandidateRequest:
    """A question to a cloud that has these classes."""
    groups = [_group(source, suffix, classes, cloud) for suffix in source.choice(suffixes)]
    bound = [group.suffix for group in groups if group.suffix]
    subtrees: list[frozenset[str]] = []
    if bound and source.random() < 0.4:
        if source.random() < 0.5:
            groups.append(RequestGroup("_TOP", required=(frozenset(TRAITS),)))
            bound.append("_TOP")
        subtrees.append(frozenset(bound))
        if len(bound) > 2 and source.random() < 0.5:
            subtrees.append(frozenset(bound[-2:]))
    return CandidateRequest(
        groups=tuple(groups),
        isolate=source.random() < 0.4,
        root_required=_names(source, TRAITS, 0.05, 1),
        root_forbidden=_names(source, TRAITS, 0.05, 1),
        same_subtrees=tuple(subtrees),
        nested=bool(subtrees) or source.random() < 0.85,
    )


class _Tree:
    """A host with everything below it, or with a pool beside it."""

    def __init__(self, source: random.Random, name: str):
        self.source, self.name = source, name
        self.hosts: list[Host] = []

    def add(
        self, suffix: str, classes: Sequence[str] = (), parent: str | None = None, trait: str = ""
    ) -> str:
        name = self.name + suffix
        self.hosts.append(_provider(self.source, name, classes, parent, trait))
        return name

    def add_numa(self) -> None:
        host = self.add("", ("DISK_GB",))
        for node in range(self.source.choice((1, 2, 2))):
            below = self.add(f"_node{node}", ("VCPU",), host)
            for card in range(self.source.choice((0, 1, 1, 2))):
                self.add(f"_node{node}_card{card}", ("SRIOV_NET_VF",), below)

    def add_pci(self) -> None:
        host = self.add("", ("VCPU",))
        for device in range(self.source.choice((2, 3, 4))):
            self.add(f"_gpu{device}", ("PGPU",), host)

    def add_bandwidth(self) -> None:
        agent = self.add("_agent", (), self.add("", ("VCPU",)))
        for card in range(self.source.choice((1, 2, 3))):
            self.add(f"_nic{card}", ("SRIOV_NET_VF", "MEMORY_MB"), agent)

    def add_flat(self) -> None:
        self.add("", ("VCPU", "DISK_GB"))

    def add_sharing(self) -> None:
        self.add_flat()
        self.add("-pool", ("DISK_GB",), None, SHARES)

    def add_odd(self) -> None:
        """Any form of tree; any provider may have any class, and may share."""
        self.add("", CLASSES_OF["odd"][:1])
        for number in range(self.source.randrange(5)):
            held = self.source.sample(CLASSES_OF["odd"], self.source.randint(0, 3))
            shares = SHARES if self.source.random() < 0.2 else ""
            self.add(f"_{number}", held, self.source.choice(self.hosts).name, shares)


def _host(source: random.Random, shape: str, name: str) -> list[Host]:
    tree = _Tree(source, name)
    getattr(tree, f"add_{shape}")()
    return tree.hosts


def _provider(
    source: random.Random,
    name: str,
    classes: Sequence[str],
    parent: str | None,
    trait: str,
) -> Host:
    """One provider; now and then it lacks a class, is full, or is strict about amounts."""
    totals = {name: source.choice((1, 3, 4, 4)) for name in classes if source.random() < 0.93}
    used = {name: source.choice((0, 0, 0, 0, 0, 1, total)) for name, total in totals.items()}
    return Host(
        name,
        totals,
        parent,
        (*filter(None, [trait]), *sorted(_names(source, TRAITS, 0.7, 2))),
        tuple(sorted(_names(source, AGGREGATES, 0.2 if parent else 0.8, 2))),
        used,
        max_unit=source.choice((1, 2, 4, 4, 4, 4, 4)),
        step_size=source.choice((1, 1, 1, 1, 1, 1, 1, 2)),
    )


def _group(
    source: random.Random, suffix: str, classes: Sequence[str], cloud: Sequence[Host]
) -> RequestGroup:
    count = min(len(classes), source.choice((1, 1, 2, 3) if not suffix else (1, 1, 2)))
    asked = source.sample(classes, count)
    required = (_names(source, TRAITS, 1, 2) for _ in range(source.choice((0, 0, 0, 0, 0, 1, 2))))
    return RequestGroup(
        suffix=suffix,
        resources=tuple((name, source.choice((1, 1, 1, 1, 2))) for name in asked),
        required=tuple(required),
        forbidden=_names(source, TRAITS, 0.1, 1),
        member_of=(_names(source, AGGREGATES, 1, 2),) if source.random() < 0.1 else (),
        forbidden_aggregates=_names(source, AGGREGATES, 0.07, 1),
        in_tree=source.choice(cloud).name if source.random() < 0.07 else None,
    )


def _names(source: random.Random, names: Sequence[str], chance: float, most: int) -> frozenset[str]:
    """Some of the names, or none."""
    if source.random() >= chance:
        return frozenset()
    return frozenset(source.sample(names, source.randint(1, most)))
