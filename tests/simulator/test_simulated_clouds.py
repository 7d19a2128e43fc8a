# SPDX-License-Identifier: Apache-2.0
"""What holds in every simulated history. The oracle is the simulator, not the product's own rules.

TRUEUP_HISTORIES sets how many histories are played, TRUEUP_SEED the seed of the first.
"""

from pathlib import Path

import pytest

from tests.simulator.adapter import KNOWN_NAMES
from tests.simulator.cloud import Cloud, Server
from tests.simulator.drifts import DRIFTS, GUEST_DRIFTS
from tests.simulator.events import VERBS, parsed
from tests.simulator.generating import HEALTHY, READ, history, shortened
from tests.simulator.host_drifts import HOST_DRIFTS
from tests.simulator.quiet import audited, quiet_cloud, subjects_of, wrong_consumers
from tests.simulator.reporting import HISTORIES, seeds, shown, story
from tests.simulator.running import false_alarms, play, run

WRITTEN = sorted(Path(__file__).parent.glob("histories/*.txt"))
# Of so many histories, some have each event.
ENOUGH = 300


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_no_plan_of_these_histories_touches_what_is_right(path):
    lines = [line for line in path.read_text().splitlines() if line and line[0] != "#"]
    hypervisors = "with hypervisors" in lines
    events = [parsed(line) for line in lines if line != "with hypervisors"]
    assert run(events, hypervisors).violations == []


@pytest.mark.parametrize("hypervisors", [False, True], ids=["not asked", "hypervisors asked"])
def test_no_plan_touches_what_is_right_wherever_the_audit_falls(hypervisors):
    """Neither the plan nor what is applied of it contradicts the truth.

    It says something, as every event happens and plans are made.
    """
    happened, plans = set(), 0
    for seed in seeds():
        events = history(seed)
        played = run(events, hypervisors)
        if played.violations:
            pytest.fail(f"seed {seed}:{shown(events, hypervisors)}")
        happened |= {line.split()[0] for line in played.happened}
        plans += bool(played.changes)
    assert HISTORIES < ENOUGH or (VERBS.keys() <= happened and plans > HISTORIES // 10)


def test_one_look_at_a_cloud_in_motion_gives_no_false_alarm():
    """The exit code of an audit can be used as an alarm."""
    for seed in seeds():
        events = history(seed, HEALTHY)
        alarms = false_alarms(events)
        if alarms:
            short = shortened(events, lambda some: bool(false_alarms(some)))
            pytest.fail(f"seed {seed}: {alarms}; " + "; ".join(map(str, short)))


def test_a_healthy_cloud_at_rest_has_no_finding():
    for seed in seeds():
        quiet = quiet_cloud(seed)
        wrong = wrong_consumers(quiet.cloud)
        expected = {uuid for one in wrong for uuid in subjects_of(quiet.cloud, one)}
        # After a failed resize either flavor is right on the target.
        expected |= {one for one, rights in quiet.cloud.right.items() if len(rights) > 1}
        audit = audited(quiet.cloud)
        assert {subject for _, subject in audit.findings} <= expected, story(seed, quiet)
        assert expected or not audit.incomplete, story(seed, quiet) + audit.open


def test_every_drift_has_names_of_defects_or_none():
    for drift in {**DRIFTS, **GUEST_DRIFTS, **HOST_DRIFTS}.values():
        assert set(drift.names) <= KNOWN_NAMES


def test_what_is_right_of_a_server_at_rest_is_what_nova_claims_on_its_host():
    """The simulator agrees with itself."""
    for seed in seeds():
        cloud = Cloud()
        for event in (one for one in history(seed) if one.verb != READ.verb):
            play((event,), cloud, [])
            for server in filter(at_rest_on_its_host, cloud.servers.values()):
                claimed = cloud.claim_of(server, server.host)
                assert claimed in cloud.acceptable_to(server.uuid), f"seed {seed}, {event}"


def at_rest_on_its_host(server: Server) -> bool:
    renamed = server.uuid.replace("-", "") in server.moves
    on_host = server.host is not None and not server.source and not server.gone
    return server.settled and on_host and not renamed
