# SPDX-License-Identifier: Apache-2.0
"""What an audit and a repair of a cloud at rest do, in which drift of every kind was planted.

The truth is the simulator's. TRUEUP_HISTORIES sets how many clouds there are, TRUEUP_SEED the
seed of the first.
"""

from contextlib import suppress
from random import Random

import pytest

from tests.simulator import adapter
from tests.simulator.cloud import Cloud, Impossible
from tests.simulator.generating import Mix
from tests.simulator.host_drifts import HOST_DRIFTS, NAMES_AND_PARTS
from tests.simulator.judging import Judge
from tests.simulator.places import HOSTS
from tests.simulator.quiet import (
    QuietCloud,
    audited,
    drifted,
    quiet_cloud,
    repaired_and_declined,
    subjects_of,
)
from tests.simulator.quiet import wrong_consumers as wrong_in
from tests.simulator.reporting import seeds, story
from tests.simulator.running import INTERVAL_SECONDS

DAY = 86_400


def wrong_subjects(quiet: QuietCloud) -> dict[str, frozenset[str]]:
    """What is wrong, and the defect names of it."""
    return {**wrong_in(quiet.cloud), **quiet.cloud.damage}


def test_what_is_wrong_is_found_under_its_name_or_mentioned_and_nothing_else_is_found():
    for seed in seeds():
        quiet = drifted(seed)
        audit = audited(quiet.cloud)
        truths = Judge(quiet.cloud, hypervisors=False).now().truths
        wrong = {one: subjects_of(quiet.cloud, one) for one in wrong_subjects(quiet)}
        for consumer, names in wrong_subjects(quiet).items():
            found = {name for name, subject in audit.findings if subject in wrong[consumer]}
            is_open = any(uuid in audit.open for uuid in wrong[consumer])
            assert found or is_open, f"{consumer} is not mentioned; " + story(seed, quiet)
            if consumer in truths and truths[consumer].hands_off:
                # As where the host that it was evacuated from is up: it is only mentioned.
                continue
            assert not names or found & names, f"{consumer} is {names}; " + story(seed, quiet)
        # After a failed resize either flavor is right on the target.
        unclear = {one for one, rights in quiet.cloud.right.items() if len(rights) > 1}
        every = unclear.union(*wrong.values())
        assert {subject for _, subject in audit.findings} <= every, story(seed, quiet)


def test_what_is_repaired_is_what_the_truth_says():
    """Where two things are wrong with one consumer, what is left is said under another name."""
    for seed in seeds():
        quiet = drifted(seed)
        before = audited(quiet.cloud).findings
        after, declined = repaired_and_declined(quiet.cloud)
        for consumer in wrong_in(quiet.cloud):
            subjects = subjects_of(quiet.cloud, consumer)
            repairable = {name for name, subject in before if subject in subjects}
            is_told = any(uuid in after.open for uuid in subjects) or any(
                subject in subjects for _, subject in after.findings
            )
            assert not repairable or is_told, f"{consumer} is still wrong; " + story(seed, quiet)
        assert not (after.findings & before) - declined, story(seed, quiet)


ACTS = NAMES_AND_PARTS | {
    # These need a server that they know.
    name: drift.act
    for name, drift in HOST_DRIFTS.items()
    if name != "forgotten-in-use"
}


@pytest.mark.parametrize("hypervisors", [False, True], ids=["not asked", "hypervisors asked"])
def test_no_plan_touches_what_is_right_where_hosts_or_tables_have_drifted(hypervisors):
    """Renamed hosts, two hosts of one name, lost tables; beside drift of servers."""
    for seed in seeds():
        quiet, rng = drifted(seed), Random(seed)
        kind = rng.choice(sorted(ACTS))
        with suppress(Impossible):
            ACTS[kind](quiet.cloud, rng.choice(list(HOSTS.values())))
            quiet.happened.append(kind)
        quiet.cloud.wait(DAY)
        assert violations(quiet.cloud, hypervisors) == [], story(seed, quiet)


def violations(cloud: Cloud, hypervisors: bool) -> list[str]:
    """What the steps of a plan would do wrong."""
    first = audited(cloud, hypervisors)
    cloud.wait(INTERVAL_SECONDS)
    plan = adapter.planned(first, audited(cloud, hypervisors), cloud)
    moment = Judge(cloud, hypervisors).now()
    return [wrong for wrong in map(moment.wrong, plan.steps) if wrong]


# Services die amid operations, and nothing else is wrong.
DYING = Mix(plant=0, cells=0, crash=12, hosts=0, loses=False)


def test_what_hangs_for_a_day_is_named():
    """Tasks whose service died never end by themselves."""
    hanging = 0
    for seed in seeds():
        quiet = quiet_cloud(seed, DYING)
        quiet.cloud.wait(2 * DAY)
        audit = audited(quiet.cloud)
        for server in quiet.cloud.servers.values():
            in_cell = server.stuck and quiet.cloud.has_row(server)
            if in_cell and quiet.cloud.row(server).task_state and not server.gone:
                assert server.uuid in audit.open, f"{server.name}; {story(seed, quiet)}"
                hanging += 1
    assert hanging
