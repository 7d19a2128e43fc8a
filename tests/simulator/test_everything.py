# SPDX-License-Identifier: Apache-2.0
"""What must hold and does not hold yet. It is collected only with TRUEUP_SIMULATE_ALL=1."""

from pathlib import Path

import pytest

from tests.simulator.adapter import Audited
from tests.simulator.changes import in_words
from tests.simulator.cloud import Cloud
from tests.simulator.drifts import DRIFTS, GUEST_DRIFTS
from tests.simulator.events import happen, parsed
from tests.simulator.generating import HEALTHY, history, shortened
from tests.simulator.host_drifts import HOST_DRIFTS, IN_USE
from tests.simulator.places import HOSTS
from tests.simulator.quiet import (
    QUIET_SECONDS,
    audited,
    drifted,
    repaired,
    subjects_of,
    wrong_consumers,
)
from tests.simulator.reporting import seeds, shown, story
from tests.simulator.rows import uuid_of
from tests.simulator.running import false_alarms, run

HISTORIES = sorted(Path(__file__).parent.glob("histories/*.txt"))
# The events that make a drift possible.
BEFORE = {
    "shelved": ("shelve web", "finish web"),
    "orphaned": ("delete web", "finish web"),
    "missing-port": ("attach web", "finish web"),
    "ghost": ("delete web", "finish web"),
}


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_no_plan_of_these_histories_touches_what_is_right(path):
    lines = [line for line in path.read_text().splitlines() if line and line[0] != "#"]
    hypervisors = "with hypervisors" in lines
    events = [parsed(line) for line in lines if line != "with hypervisors"]
    assert run(events, hypervisors).violations == []


@pytest.mark.parametrize("host", ["h1", "h4"], ids=["own disk", "pool"])
@pytest.mark.parametrize("kind", [*DRIFTS, *GUEST_DRIFTS])
def test_one_drift_of_a_server_is_found_named_and_repaired(kind, host):
    cloud, hypervisors = Cloud(), kind in GUEST_DRIFTS
    play_all(cloud, f"boot web {host} small", "finish web", *BEFORE.get(kind, ()))
    play_all(cloud, f"plant web {kind}")
    cloud.wait(QUIET_SECONDS)
    before = audited(cloud, hypervisors)
    wrong = {**wrong_consumers(cloud), **cloud.damage}
    assert wrong
    for consumer, names in wrong.items():
        is_reported(before, subjects_of(cloud, consumer), names)
    repaired(cloud, hypervisors)
    for consumer, names in wrong_consumers(cloud).items():
        held = f"holds {in_words(cloud.held(consumer))}"
        assert not names, f"{held}; right is {in_words(cloud.acceptable_to(consumer)[0])}"


@pytest.mark.parametrize("kind", HOST_DRIFTS)
def test_one_drift_of_a_host_is_found_and_named(kind):
    cloud, host = Cloud(), HOSTS["h1" if kind in IN_USE else "h3"]
    play_all(cloud, "boot web h1 small", "finish web", "boot db h5 small", "finish db")
    HOST_DRIFTS[kind].act(cloud, host)
    cloud.wait(QUIET_SECONDS)
    before = audited(cloud)
    subjects = {host.name, *host.tree, uuid_of(f"{host.name}.example.org")}
    subjects |= {uuid for uuid, row in cloud.providers.items() if row.parent == host.root}
    subjects |= {row.uuid for row in cloud.cells[host.cell].nodes.values()}
    is_reported(before, frozenset(subjects), frozenset(HOST_DRIFTS[kind].names))
    repaired(cloud)
    assert wrong_consumers(cloud) == {}


def play_all(cloud: Cloud, *lines: str) -> None:
    for line in lines:
        happen(parsed(line), cloud)


def is_reported(audit: Audited, subjects: frozenset[str], names: frozenset[str]) -> None:
    """Found under one of its names, or unchecked if it has none; and nothing else is found."""
    found = {name for name, subject in audit.findings if subject in subjects}
    is_open = any(one in audit.open for one in subjects)
    told = found & names if names else is_open
    assert told, f"found as {sorted(found)}, it is {sorted(names)}; open: {audit.open}"
    others = {row for row in audit.findings if row[1] not in subjects}
    assert not others, f"found besides: {sorted(others)}"


def test_one_look_at_a_cloud_in_motion_gives_no_false_alarm():
    """The exit code of an audit can be used as an alarm."""
    for seed in seeds():
        events = history(seed, HEALTHY)
        alarms = false_alarms(events)
        if alarms:
            short = shortened(events, lambda some: bool(false_alarms(some)))
            pytest.fail(f"seed {seed}: {alarms}; " + "; ".join(map(str, short)))


@pytest.mark.parametrize("hypervisors", [False, True], ids=["not asked", "hypervisors asked"])
def test_no_plan_touches_what_is_right_in_any_history(hypervisors):
    for seed in seeds():
        events = history(seed)
        if run(events, hypervisors).violations:
            pytest.fail(f"seed {seed}:{shown(events, hypervisors)}")


def test_nothing_wrong_is_passed_over_in_silence():
    for seed in seeds():
        quiet = drifted(seed)
        audit = audited(quiet.cloud)
        named = {subject for _, subject in audit.findings}
        for consumer in {**wrong_consumers(quiet.cloud), **quiet.cloud.damage}:
            subjects = subjects_of(quiet.cloud, consumer)
            mentioned = named & subjects or any(uuid in audit.open for uuid in subjects)
            assert mentioned, f"{consumer} is not mentioned; " + story(seed, quiet)


def test_planted_drift_is_found_under_its_name_and_nothing_else_is():
    for seed in seeds():
        quiet = drifted(seed)
        found = audited(quiet.cloud).findings
        wrong = {**wrong_consumers(quiet.cloud), **quiet.cloud.damage}
        for consumer, names in wrong.items():
            subjects = subjects_of(quiet.cloud, consumer)
            mine = {name for name, subject in found if subject in subjects}
            assert not names or mine & names, f"{consumer} is {names}; " + story(seed, quiet)
        every = {uuid for one in wrong for uuid in subjects_of(quiet.cloud, one)}
        every |= {one for one, rights in quiet.cloud.right.items() if len(rights) > 1}
        assert {subject for _, subject in found} <= every, story(seed, quiet)


def test_what_is_repaired_is_what_the_truth_says():
    for seed in seeds():
        quiet = drifted(seed)
        before = audited(quiet.cloud).findings
        left = repaired(quiet.cloud).findings
        for consumer in wrong_consumers(quiet.cloud):
            subjects = subjects_of(quiet.cloud, consumer)
            repairable = {name for name, subject in before if subject in subjects}
            assert not repairable, f"{consumer} is still wrong; " + story(seed, quiet)
        assert not left & before, story(seed, quiet)
