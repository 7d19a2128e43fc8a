# SPDX-License-Identifier: Apache-2.0
"""Runs: a history is played, while a reader looks twice, plans, and applies the plan."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.simulator import adapter
from tests.simulator.changes import Step, changed
from tests.simulator.cloud import Cloud, Impossible
from tests.simulator.events import Event, happen
from tests.simulator.generating import READ
from tests.simulator.judging import Judge
from tests.simulator.observing import Observed, looked

BETWEEN_LOOKS_SECONDS = 61


@dataclass
class Run:
    """What came of a history. `wrongs` says in sentences what was proposed or written wrongly."""

    cloud: Cloud
    happened: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    wrongs: list[str] = field(default_factory=list)


def played(events: Iterable[Event], cloud: Cloud, told: list[str]) -> None:
    """Let events happen; those that cannot are passed over."""
    for event in events:
        try:
            happen(event, cloud)
            told.append(str(event))
        except Impossible:
            continue


def run(events: Sequence[Event], hypervisors: bool = False) -> Run:
    """Play a history, with an audit falling wherever it says that something is read.

    `read` reads one part, `read apply` all that comes before that part. What is left to be read
    when the history is over is read with nothing happening between.
    """
    cloud = Cloud()
    result = Run(cloud)
    reader = _reader(result, hypervisors)
    for event in events:
        if event.verb == READ.verb:
            result.happened += _read(reader, event)
        else:
            played((event,), cloud, result.happened)
    result.happened += (f"read ({part})" for part in reader)
    return result


def false_alarms(events: Sequence[Event]) -> list[str]:
    """What a single look finds in servers of which nothing was wrong while it was read."""
    cloud = Cloud()
    observed = Observed(cloud.now)
    reader, wrong = looked(cloud, observed), set[str]()
    for event in events:
        wrong |= _wrong_servers(cloud)
        if event.verb == READ.verb:
            next(reader, None)
        else:
            played((event,), cloud, [])
    for _ in reader:
        wrong |= _wrong_servers(cloud)
    found = adapter.Look(observed).findings
    return [f"{name} of {subject}" for name, subject in sorted(found) if subject not in wrong]


def _wrong_servers(cloud: Cloud) -> set[str]:
    return {
        one.uuid for one in cloud.servers.values() for uuid in cloud.consumers_of(one)
        if cloud.is_wrong(uuid)
    }  # fmt: skip


def _read(reader: Iterator[str], event: Event) -> Iterator[str]:
    for part in reader:
        yield f"read ({part})"
        if not event.words or part == event.words[0]:
            return


def _reader(result: Run, hypervisors: bool) -> Iterator[str]:
    """Two looks, a plan, and its application; stops before each part that is read or written."""
    cloud, judge = result.cloud, Judge(result.cloud, hypervisors)
    first = _begun(cloud)
    yield from looked(cloud, first, hypervisors)
    before = adapter.Look(first)
    if not before.findings:
        return
    yield "wait"
    cloud.finish_short_pauses()
    cloud.wait(BETWEEN_LOOKS_SECONDS)
    second = _begun(cloud)
    moments = []
    for part in looked(cloud, second, hypervisors):
        moments.append(judge.now())
        yield part
    moments.append(judge.now())
    yield "holdings"
    plan = adapter.planned(before, adapter.Look(second), cloud)
    moments.append(judge.now())
    for step in plan.steps:
        wrongs = [moment.wrong(step) for moment in moments]
        result.changes += map(changed, step)
        if all(wrongs):
            result.wrongs.append(f"planned: {wrongs[-1]}")
    yield "apply"
    for _ in adapter.applied(plan, cloud, lambda step: _written(result, judge, step)):
        yield "apply"


def _begun(cloud: Cloud) -> Observed:
    """A look that begins a second after whatever was written last."""
    cloud.wait(1)
    return Observed(cloud.now)


def _written(result: Run, judge: Judge, step: Step) -> None:
    if wrong := judge.now().wrong(step):
        result.wrongs.append(f"written: {wrong}")
