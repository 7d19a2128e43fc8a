# SPDX-License-Identifier: Apache-2.0
"""Explain a request: how many hosts each of Nova's filters leaves out. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from trueup.reconcile.facts import ScheduleRequest, SchedulerHost, SchedulerOptions
from trueup.reconcile.scheduling.filters import Filter, Open, filter_named

NEAREST_MAX = 3
NODES = "compute nodes of enabled cells"


@dataclass(frozen=True, slots=True)
class FilterStep:
    """A filter of Nova's, how many hosts it left, and what the hosts lack that it left out.

    `nearest` are a few of these, by name, with the fewest filters against them first; providers
    without a host by uuid.
    `left_without` is how many hosts all other filters leave. `open` has the reasons why some hosts
    could not be judged, each with the number of these hosts: they count as left.
    """

    name: str
    left: int
    lost: int
    nearest: tuple[tuple[str, str], ...] = ()
    left_without: int | None = None
    open: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Filtered:
    """The hosts that Nova's filters leave. `passing` are all hosts that pass every filter."""

    steps: tuple[FilterStep, ...]
    left: int
    passing: frozenset[str]

    @property
    def not_judged(self) -> tuple[FilterStep, ...]:
        """The steps that let hosts pass without judging them."""
        return tuple(step for step in self.steps if step.open)


def filtered(
    request: ScheduleRequest,
    hosts: Iterable[SchedulerHost],
    candidates: Collection[str],
    options: SchedulerOptions,
    now: datetime,
) -> Filtered:
    """What the filters leave of Placement's candidates, which are given by uuid.

    `hosts` are the compute nodes of enabled cells: Nova drops other candidates.
    """
    filters = _filters(request, options, now)
    judged = {host.uuid: _faults(request, host, filters, options) for host in hosts}
    left = [judged[uuid] for uuid in candidates if uuid in judged]
    every = left
    gone = sorted(uuid for uuid in candidates if uuid not in judged)
    nearest = tuple((uuid, "no such compute node") for uuid in gone[:NEAREST_MAX])
    steps = [FilterStep(NODES, len(left), len(gone), nearest)]
    for at, (name, _) in enumerate(filters):
        lost = sorted((host for host in left if host.lacks[at]), key=_HostFaults.rank)
        before, left = len(left), [host for host in left if not host.lacks[at]]
        nearest = tuple((host.name, host.lacks[at]) for host in lost[:NEAREST_MAX])
        without = sum(host.passes_without(at) for host in every)
        doubts = Counter(host.open[at] for host in left if at in host.open)
        steps.append(
            FilterStep(name, len(left), before - len(left), nearest, without, (*doubts.items(),))
        )
    passing = frozenset(uuid for uuid, host in judged.items() if not host.faults)
    shown = steps if steps[0].lost else steps[1:]
    return Filtered(tuple(shown), len(left), passing)


@dataclass(frozen=True, slots=True)
class _HostFaults:
    """A host by name, what it lacks for each filter, and where that is not known.

    `faults`: how many filters leave it out.
    """

    name: str
    lacks: Sequence[str]
    open: Mapping[int, str]
    faults: int

    def rank(self) -> tuple[int, str]:
        return self.faults, self.name

    def passes_without(self, at: int) -> bool:
        return self.faults == bool(self.lacks[at])


def _filters(
    request: ScheduleRequest, options: SchedulerOptions, now: datetime
) -> list[tuple[str, Filter]]:
    """The request's own conditions on hosts, and then the enabled filters."""
    found: list[tuple[str, Filter]] = []
    if request.cell is not None:
        found.append(("the cell of the server", _in_cell))
    if request.ignored:
        found.append(("hosts to leave out", _not_ignored))
    if request.forced_hosts or request.forced_nodes:
        # PARITY: forced hosts skip all other filters.
        return [*found, ("hosts that are forced", _forced)]
    return found + [(name, filter_named(name, request, now)) for name in options.enabled_filters]


def _in_cell(request: ScheduleRequest, host: SchedulerHost, _: SchedulerOptions) -> str:
    return "" if host.cell == request.cell else "in another cell"


def _not_ignored(request: ScheduleRequest, host: SchedulerHost, _: SchedulerOptions) -> str:
    ignored = {name.lower() for name in request.ignored}
    return "the server is there" if host.host.lower() in ignored else ""


def _forced(request: ScheduleRequest, host: SchedulerHost, _: SchedulerOptions) -> str:
    hosts, nodes = {name.lower() for name in request.forced_hosts}, {*request.forced_nodes}
    right = (not hosts or host.host.lower() in hosts) and (not nodes or host.node in nodes)
    return "" if right else "another host is asked for"


def _faults(
    request: ScheduleRequest,
    host: SchedulerHost,
    filters: Iterable[tuple[str, Filter]],
    options: SchedulerOptions,
) -> _HostFaults:
    found = [fault_of(request, host, check, options) for _, check in filters]
    lacks = ["" if isinstance(fault, Open) else fault for fault in found]
    doubts = {at: fault.why for at, fault in enumerate(found) if isinstance(fault, Open)}
    return _HostFaults(host.host, lacks, doubts, sum(map(bool, lacks)))


def fault_of(
    request: ScheduleRequest, host: SchedulerHost, check: Filter, options: SchedulerOptions
) -> str | Open:
    """What a host lacks for a filter; empty if it lacks nothing."""
    try:
        return check(request, host, options)
    except (ValueError, TypeError) as error:
        return f"Nova cannot compare it: {error}"
