# SPDX-License-Identifier: Apache-2.0
"""Runs: play a history while the product observes twice, plans, and applies the plan."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.simulator import adapter
from tests.simulator.changes import Step, changed
from tests.simulator.cloud import Cloud, Impossible
from tests.simulator.events import Event, happen
from tests.simulator.generating import READ
from tests.simulator.judging import Judge
from tests.simulator.observing import Observed, observe

INTERVAL_SECONDS = 61
# An audit that plans something observes twice, and suspects again each time.
READINGS = 4


@dataclass
class Run:
    """The result of a history.

    `happened` are the events that were possible, with the reads between them. `changes` are the
    planned changes, and `violations` those that contradict the truth, both in sentences. `over`:
    no event is left.
    """

    cloud: Cloud
    over: bool = False
    happened: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


def play(events: Iterable[Event], cloud: Cloud, log: list[str]) -> None:
    """Let events happen and record them in `log`; skip those that are impossible."""
    for event in events:
        try:
            happen(event, cloud)
            log.append(str(event))
        except Impossible:
            continue


def run(events: Sequence[Event], hypervisors: bool = False) -> Run:
    """Play a history. Its `read` events say when the audit reads the next part of the cloud.

    `read` alone reads one part; `read apply` reads on until the part `apply` is next. One audit
    follows the other. The last one begins when no event is left, and nothing happens during it.
    """
    cloud = Cloud()
    result = Run(cloud)
    reader = _audits(result, hypervisors)
    for event in events:
        if event.verb == READ.verb:
            result.happened += _read(reader, event)
        else:
            play((event,), cloud, result.happened)
    result.over = True
    result.happened += (f"read ({part})" for part in reader)
    return result


def false_alarms(events: Sequence[Event]) -> list[str]:
    """The findings of one observation about servers that were right all the time it took.

    It begins with the first `read` event, and ends when no event is left. As in the product, each
    suspect is read again before it is a finding, after a pause where two requests may be apart.
    """
    cloud = Cloud()
    wrong, observed = set[str](), list[Observed]()

    def observation() -> Iterator[str]:
        observed.append(_begun(cloud))
        yield from observe(cloud, observed[0])

    reader = observation()
    for event in events:
        wrong |= _wrong_servers(cloud)
        if event.verb == READ.verb:
            next(reader, None)
        else:
            play((event,), cloud, [])
    for _ in reader:
        wrong |= _wrong_servers(cloud)
    first = adapter.Audited(observed[0])
    if first.settling_seconds:
        cloud.finish_short_pauses()
        cloud.wait(first.settling_seconds)
    again = _begun(cloud)
    for _ in observe(cloud, again):
        pass
    found = first.confirmed_by(adapter.Audited(again))
    return [f"{name} of {subject}" for name, subject in sorted(found) if subject not in wrong]


def _wrong_servers(cloud: Cloud) -> set[str]:
    """Servers that hold something wrong, and those of which several holdings are right."""
    return {
        one.uuid for one in cloud.servers.values() for uuid in cloud.consumers_of(one)
        if cloud.is_wrong(uuid) or len(cloud.acceptable_to(uuid)) > 1
    }  # fmt: skip


def _read(reader: Iterator[str], event: Event) -> Iterator[str]:
    """The parts that are read: one, or all up to the one that the event names.

    An audit that plans nothing never comes to `apply`, and so the number of readings is limited.
    """
    begun = 0
    for part in reader:
        yield f"read ({part})"
        begun += part == "ledger"
        if not event.words or part == event.words[0] or begun > READINGS:
            return


def _audits(result: Run, hypervisors: bool) -> Iterator[str]:
    last = False
    while not last:
        last = result.over
        yield from _audit(result, hypervisors)


def _audit(result: Run, hypervisors: bool) -> Iterator[str]:
    """Observe twice, plan, apply. Yields the name of each part before it is read or written."""
    cloud, judge = result.cloud, Judge(result.cloud, hypervisors)
    before = yield from look(cloud, hypervisors)
    if not before.findings:
        return
    yield "wait"
    cloud.finish_short_pauses()
    cloud.wait(INTERVAL_SECONDS)
    moments = []
    second = look(cloud, hypervisors)
    try:
        while part := next(second):
            moments.append(judge.now())
            yield part
    except StopIteration as over:
        after: adapter.Audited = over.value
    moments.append(judge.now())
    yield "holdings"
    plan = adapter.planned(before, after, cloud)
    moments.append(judge.now())
    for step in plan.steps:
        wrongs = [moment.wrong(step) for moment in moments]
        result.changes += map(changed, step)
        if all(wrongs):
            result.violations.append(f"planned: {wrongs[-1]}")
    yield "apply"
    for _ in adapter.applied(plan, cloud, lambda step: _written(result, judge, step)):
        yield "apply"


def look(
    cloud: Cloud, hypervisors: bool, allowed_behind: frozenset[str] = frozenset()
) -> Generator[str, None, adapter.Audited]:
    """An observation as the product makes it: suspects are read again before they are reported."""
    seen = _begun(cloud)
    yield from observe(cloud, seen, hypervisors)
    audited = adapter.Audited(seen, allowed_behind)
    if audited.suspects:
        if audited.settling_seconds:
            cloud.finish_short_pauses()
            cloud.wait(audited.settling_seconds)
        again = _begun(cloud)
        yield from observe(cloud, again, hypervisors, audited.suspects)
        audited.confirm(again)
    return audited


def _begun(cloud: Cloud) -> Observed:
    """A new observation. It begins a second after the last write: Nova's times have seconds."""
    cloud.wait(1)
    return Observed(cloud.now)


def _written(result: Run, judge: Judge, step: Step) -> None:
    if wrong := judge.now().wrong(step):
        result.violations.append(f"written: {wrong}")
