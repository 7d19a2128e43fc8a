# SPDX-License-Identifier: Apache-2.0
"""Clouds of the shapes that real ones have, and questions to them, drawn by hypothesis.

Small enough to try everything: up to ten providers, up to four groups.
"""

from collections.abc import Sequence

import hypothesis.strategies as st

from tests.placement.index.clouds import SHARES, Host
from trueup.model.requests import CandidateRequest, RequestGroup

TRAITS = ("FAST", "SMALL")
AGGREGATES = ("rack", "pool")
SHAPES = ("flat", "numa", "pci", "bandwidth", "sharing")
CLASSES_OF = {
    "flat": ("VCPU", "DISK_GB"),
    "numa": ("VCPU", "DISK_GB", "SRIOV_NET_VF"),
    "pci": ("VCPU", "PGPU"),
    "bandwidth": ("VCPU", "SRIOV_NET_VF", "MEMORY_MB"),
    "sharing": ("VCPU", "DISK_GB"),
}
"""What there is to ask for; in `bandwidth`, MEMORY_MB stands for what a network card can carry."""
_traits = st.lists(st.sampled_from(TRAITS), unique=True).map(tuple)
_aggregates = st.lists(st.sampled_from(AGGREGATES), unique=True).map(tuple)


@st.composite
def providers(
    draw: st.DrawFn,
    name: str,
    classes: Sequence[str] = (),
    parent: str | None = None,
    traits: tuple[str, ...] = (),
) -> Host:
    """One provider; now and then it lacks a class, is full, or is strict about amounts."""
    held = [one for one in classes if draw(st.integers(0, 7))]
    totals = {one: draw(st.sampled_from((1, 2, 4))) for one in held}
    return Host(
        name,
        totals,
        parent,
        (*traits, *draw(_traits)),
        draw(_aggregates) if parent is None or draw(st.booleans()) else (),
        {one: draw(st.sampled_from((0, 0, 1, total))) for one, total in totals.items()},
        max_unit=draw(st.sampled_from((1, 2, 4, 4, 4))),
        step_size=draw(st.sampled_from((1, 1, 1, 1, 2))),
    )


@st.composite
def hosts(draw: st.DrawFn, shape: str, name: str) -> list[Host]:
    """A host with everything below it, or a pool."""
    if shape == "numa":
        tree = [draw(providers(name, ("DISK_GB",)))]
        for node in range(draw(st.integers(1, 2))):
            below = f"{name}_node{node}"
            tree.append(draw(providers(below, ("VCPU",), name)))
            for card in range(draw(st.integers(0, 2))):
                tree.append(draw(providers(f"{below}_card{card}", ("SRIOV_NET_VF",), below)))
        return tree
    if shape == "pci":
        devices = range(draw(st.integers(1, 4)))
        tree = [draw(providers(name, ("VCPU",)))]
        return tree + [draw(providers(f"{name}_gpu{n}", ("PGPU",), name)) for n in devices]
    if shape == "bandwidth":
        tree = [draw(providers(name, ("VCPU",))), draw(providers(f"{name}_agent", (), name))]
        carried = ("SRIOV_NET_VF", "MEMORY_MB")
        for card in range(draw(st.integers(1, 2))):
            tree.append(draw(providers(f"{name}_nic{card}", carried, f"{name}_agent")))
        return tree
    if shape == "sharing":
        pool = draw(providers(f"{name}_pool", ("DISK_GB",), None, (SHARES,)))
        return [draw(providers(name, ("VCPU", "DISK_GB"))), pool]
    return [draw(providers(name, ("VCPU", "DISK_GB")))]


@st.composite
def forests(draw: st.DrawFn, shapes: Sequence[str] = SHAPES) -> tuple[list[Host], list[str]]:
    """One to three hosts of one shape or of several, and the classes that there are."""
    mixed = draw(st.sampled_from((False, False, True)))
    first = draw(st.sampled_from(shapes))
    chosen = [first]
    for _ in range(draw(st.integers(0, 1 if first in ("numa", "pci") else 2))):
        chosen.append(draw(st.sampled_from(shapes)) if mixed else first)
    cloud = [
        one for number, shape in enumerate(chosen) for one in draw(hosts(shape, f"host{number}"))
    ]
    names = dict.fromkeys(name for shape in chosen for name in CLASSES_OF[shape])
    return cloud, list(names)


@st.composite
def groups(
    draw: st.DrawFn, suffix: str, classes: Sequence[str], names: Sequence[str]
) -> RequestGroup:
    """A group that asks for some of the classes."""
    amounts = st.sampled_from((1, 1, 1, 2, 3))
    asked = st.dictionaries(st.sampled_from(classes), amounts, min_size=1, max_size=2)
    some = st.frozensets(st.sampled_from(TRAITS), min_size=1)
    members = st.frozensets(st.sampled_from(AGGREGATES), min_size=1)
    required = draw(st.sampled_from((0, 0, 0, 1, 2)))
    return RequestGroup(
        suffix=suffix,
        resources=tuple(draw(asked).items()),
        required=tuple(draw(some) for _ in range(required)),
        forbidden=draw(some) if draw(st.integers(0, 7)) == 0 else frozenset(),
        member_of=(draw(members),) if draw(st.integers(0, 5)) == 0 else (),
        forbidden_aggregates=draw(members) if draw(st.integers(0, 9)) == 0 else frozenset(),
        in_tree=draw(st.sampled_from(names)) if draw(st.integers(0, 9)) == 0 else None,
    )


SUFFIXES = (("",), ("",), ("_A",), ("_A", "_B"), ("", "_A"), ("", "_A", "_B"), ("_A", "_B", "_C"))


@st.composite
def requests(
    draw: st.DrawFn,
    classes: Sequence[str],
    names: Sequence[str],
    suffixes: Sequence[tuple[str, ...]] = SUFFIXES,
) -> CandidateRequest:
    """A question to a forest that has these classes, and providers of these names."""
    asked = [
        draw(groups(suffix, classes, names)) for suffix in draw(st.sampled_from(tuple(suffixes)))
    ]
    bound = tuple(group.suffix for group in asked if group.suffix)
    subtrees: list[frozenset[str]] = []
    if bound and draw(st.booleans()):
        if draw(st.booleans()):
            required = (draw(st.frozensets(st.sampled_from(TRAITS), min_size=1, max_size=1)),)
            asked.append(RequestGroup("_TOP", required=required))
            bound = ("_TOP", *bound)
        subtrees.append(frozenset(bound))
        if len(bound) > 2 and draw(st.booleans()):
            subtrees.append(frozenset(bound[-2:]))
    trait = st.frozensets(st.sampled_from(TRAITS), min_size=1, max_size=1)
    return CandidateRequest(
        groups=tuple(asked),
        isolate=draw(st.booleans()),
        root_required=draw(trait) if draw(st.integers(0, 7)) == 0 else frozenset(),
        root_forbidden=draw(trait) if draw(st.integers(0, 7)) == 0 else frozenset(),
        same_subtrees=tuple(subtrees),
        nested=draw(st.integers(0, 5)) > 0 or bool(subtrees),
    )
