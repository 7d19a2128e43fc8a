# SPDX-License-Identifier: Apache-2.0
"""What must hold in every history of a cloud, by the word of a simulator that knows the truth.

TRUEUP_HISTORIES says how many histories there are, TRUEUP_SEED with which one they begin.
"""

import pytest

from tests.simulator.cloud import Cloud, Server
from tests.simulator.drifts import DRIFTS
from tests.simulator.generating import PLAIN, READ, history
from tests.simulator.quiet import come_to_rest, seen, subjects_of, wrong_consumers
from tests.simulator.reporting import seeds, shown, told
from tests.simulator.running import played, run


def test_no_plan_touches_what_is_right_wherever_the_audit_falls():
    """Neither when it is made nor when it is applied."""
    for seed in seeds():
        events = history(seed, PLAIN)
        if run(events).wrongs:
            pytest.fail(f"seed {seed}:{shown(events)}")


def test_a_healthy_cloud_at_rest_has_no_finding():
    for seed in seeds():
        rest = come_to_rest(seed)
        wrong = wrong_consumers(rest.cloud)
        expected = {uuid for one in wrong for uuid in subjects_of(rest.cloud, one)}
        # What a failed resize left on its target is right with either flavor.
        expected |= {one for one, rights in rest.cloud.right.items() if len(rights) > 1}
        look = seen(rest.cloud)
        assert {subject for _, subject in look.findings} <= expected, told(seed, rest)
        assert expected or not look.incomplete, told(seed, rest) + look.open


def test_every_drift_has_names_from_the_catalogue_or_none():
    for drift in DRIFTS.values():
        assert all(name == name.lower() and " " not in name for name in drift.names)


def test_what_is_right_of_a_server_at_rest_is_what_nova_claims_on_its_host():
    """The simulator agrees with itself, whatever happened."""
    for seed in seeds():
        cloud = Cloud()
        for event in (one for one in history(seed) if one != READ):
            played((event,), cloud, [])
            for server in filter(at_rest_on_its_host, cloud.servers.values()):
                claimed = cloud.claim_of(server, server.host)
                assert claimed in cloud.rights_of(server.uuid), f"seed {seed}, {event}"


def at_rest_on_its_host(server: Server) -> bool:
    renamed = server.uuid.replace("-", "") in server.moves
    on_host = server.host is not None and not server.source and not server.gone
    return server.settled and on_host and not renamed
