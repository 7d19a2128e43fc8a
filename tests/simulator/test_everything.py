# SPDX-License-Identifier: Apache-2.0
"""What must hold, and does not yet: collected with TRUEUP_SIMULATE_ALL=1 (conftest.py)."""

from pathlib import Path

import pytest

from tests.simulator.changes import in_words
from tests.simulator.cloud import Cloud
from tests.simulator.drifts import DRIFTS
from tests.simulator.events import parsed
from tests.simulator.generating import history
from tests.simulator.quiet import (
    REST_SECONDS,
    drifted,
    repaired,
    seen,
    subjects_of,
    wrong_consumers,
)
from tests.simulator.reporting import seeds, shown, told
from tests.simulator.running import played, run

HISTORIES = sorted(Path(__file__).parent.glob("histories/*.txt"))
# What brings a server into the state in which a drift can be planted on it.
BEFORE = {
    "shelved": ("shelve web", "finish web"),
    "orphaned": ("delete web", "finish web"),
    "missing-port": ("attach web", "finish web"),
}


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_no_plan_of_these_histories_touches_what_is_right(path):
    lines = [line for line in path.read_text().splitlines() if line and line[0] != "#"]
    hypervisors = "with hypervisors" in lines
    events = [parsed(line) for line in lines if line != "with hypervisors"]
    assert run(events, hypervisors).wrongs == []


@pytest.mark.parametrize("host", ["h1", "h4"], ids=["own disk", "pool"])
@pytest.mark.parametrize("kind", DRIFTS)
def test_one_drift_is_found_named_and_repaired(kind, host):
    cloud = Cloud()
    lines = (f"boot web {host} small", "finish web", *BEFORE.get(kind, ()), f"plant web {kind}")
    happened: list[str] = []
    played(map(parsed, lines), cloud, happened)
    assert len(happened) == len(lines), "it could not be planted"
    cloud.wait(REST_SECONDS)
    wrong = {**wrong_consumers(cloud), **cloud.damage}
    assert wrong
    before = seen(cloud)
    for consumer, names in wrong.items():
        subjects = subjects_of(cloud, consumer)
        found = {name for name, subject in before.findings if subject in subjects}
        told = found & names or (not names and any(one in before.open for one in subjects))
        assert told, f"found as {sorted(found)}, it is {sorted(names)}; open: {before.open}"
    assert not repaired(cloud).findings - before.findings
    for consumer, names in wrong_consumers(cloud).items():
        held = f"holds {in_words(cloud.held(consumer))}"
        assert not names, f"{held}; right is {in_words(cloud.rights_of(consumer)[0])}"


@pytest.mark.parametrize("hypervisors", [False, True], ids=["not asked", "hypervisors asked"])
def test_no_plan_touches_what_is_right_in_any_history(hypervisors):
    for seed in seeds():
        events = history(seed)
        if run(events, hypervisors).wrongs:
            pytest.fail(f"seed {seed}:{shown(events, hypervisors)}")


def test_nothing_wrong_is_passed_over_in_silence():
    for seed in seeds():
        rest = drifted(seed)
        look = seen(rest.cloud)
        named = {subject for _, subject in look.findings}
        for consumer in {**wrong_consumers(rest.cloud), **rest.cloud.damage}:
            subjects = subjects_of(rest.cloud, consumer)
            mentioned = named & subjects or any(uuid in look.open for uuid in subjects)
            assert mentioned, f"{consumer} is not mentioned; " + told(seed, rest)


def test_planted_drift_is_found_under_its_name_and_nothing_else_is():
    for seed in seeds():
        rest = drifted(seed)
        found = seen(rest.cloud).findings
        wrong = {**wrong_consumers(rest.cloud), **rest.cloud.damage}
        for consumer, names in wrong.items():
            subjects = subjects_of(rest.cloud, consumer)
            mine = {name for name, subject in found if subject in subjects}
            assert not names or mine & names, f"{consumer} is {names}; " + told(seed, rest)
        every = {uuid for one in wrong for uuid in subjects_of(rest.cloud, one)}
        every |= {one for one, rights in rest.cloud.right.items() if len(rights) > 1}
        assert {subject for _, subject in found} <= every, told(seed, rest)


def test_what_is_repaired_is_what_the_truth_says():
    for seed in seeds():
        rest = drifted(seed)
        before = seen(rest.cloud).findings
        left = repaired(rest.cloud).findings
        for consumer in wrong_consumers(rest.cloud):
            subjects = subjects_of(rest.cloud, consumer)
            repairable = {name for name, subject in before if subject in subjects}
            assert not repairable, f"{consumer} is still wrong; " + told(seed, rest)
        assert not left & before, told(seed, rest)
