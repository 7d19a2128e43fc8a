# SPDX-License-Identifier: Apache-2.0
"""A request, hosts and options in; what each filter leaves out, and the nearest."""

from datetime import datetime

import pytest

from trueup.reconcile.facts import (
    ComputeService,
    Flavor,
    HostAggregate,
    ScheduledServer,
    ScheduleRequest,
    SchedulerHost,
    SchedulerOptions,
)
from trueup.reconcile.scheduling import Filtered, Move, MoveImpossible, filtered, moved
from trueup.reconcile.scheduling.filters import filter_named

NOW = datetime(2026, 11, 21, 12)
SMALL = Flavor("small", 1, 64, 1, 0, 0, {})
REQUEST = ScheduleRequest("server", "p1", SMALL)
SERVER = ScheduledServer("server", "web", "cell1", "h1", "active")


def host(name: str, **columns) -> SchedulerHost:
    service = ComputeService("cell1", name, False, NOW)
    given = {"cell": "cell1", "host": name, "node": name, "service": service}
    return SchedulerHost(uuid=f"uuid-{name}", **given | columns)


def run(
    request: ScheduleRequest, *hosts: SchedulerHost, enabled: str = "ComputeFilter"
) -> Filtered:
    options = SchedulerOptions(enabled_filters=tuple(enabled.split()))
    return filtered(request, hosts, [one.uuid for one in hosts], options, NOW)


def test_the_nearest_are_those_with_the_fewest_filters_against_them():
    full = {"stats": {"num_instances": "99"}}
    far = host("a", service=ComputeService("cell1", "a", True, NOW), **full)
    found = run(REQUEST, far, host("b", **full), enabled="NumInstancesFilter ComputeFilter")
    [instances, computes] = found.steps
    assert [name for name, _ in instances.nearest] == ["b", "a"]
    assert (instances.left, instances.left_without) == (0, 1)
    assert (computes.left, computes.left_without, computes.lost) == (0, 0, 0)


def test_a_candidate_that_is_no_compute_node_is_dropped_first():
    options = SchedulerOptions(enabled_filters=())
    found = filtered(REQUEST, [host("a")], ["uuid-a", "uuid-pool"], options, NOW)
    assert [(step.left, step.lost) for step in found.steps] == [(1, 1)]


def test_a_forced_host_is_asked_nothing_else():
    request = ScheduleRequest("server", "p1", SMALL, forced_hosts=("B",))
    down = host("b", service=ComputeService("cell1", "b", True, NOW))
    found = run(request, host("a"), down)
    assert [step.name for step in found.steps] == ["hosts that are forced"]
    assert found.passing == {"uuid-b"}


def test_a_filter_that_is_not_known_leaves_out_nobody_and_is_named():
    numa = ScheduleRequest("server", "p1", SMALL, numa=True)
    enabled = "NUMATopologyFilter PciPassthroughFilter OurOwnFilter"
    assert run(numa, host("a"), enabled=enabled).unknown == ("NUMATopologyFilter", "OurOwnFilter")
    assert run(REQUEST, host("a"), enabled=enabled).unknown == ("OurOwnFilter",)


@pytest.mark.parametrize(
    ("zone", "zones", "passes"),
    [
        ("az1", ["az1"], True),
        ("az1", ["az1, az2"], True),
        ("az1", ["az2"], False),
        ("nova", [], True),
        ("az1", [], False),
        (None, ["az2"], True),
    ],
)
def test_the_filter_of_zones_that_older_releases_have(zone, zones, passes):
    aggregates = tuple(HostAggregate("", one, (), {"availability_zone": one}) for one in zones)
    request = ScheduleRequest("server", "p1", SMALL, zone=zone)
    lacks = filter_named("AvailabilityZoneFilter", request, NOW)
    assert (not lacks(request, host("a", aggregates=aggregates), SchedulerOptions())) == passes


def test_a_move_leaves_its_host_and_stays_in_its_cell():
    request = ScheduleRequest("server", "p1", SMALL, forced_hosts=("h1",))
    for kind in ("live-migration", "evacuate"):
        found = moved(request, Move(kind), SERVER, SchedulerOptions())
        assert (found.cell, found.ignored, found.forced_hosts) == ("cell1", {"h1"}, ())
    big = Flavor("big", 8, 64, 1, 0, 0, {"hw:cpu_policy": "dedicated"})
    found = moved(request, Move("resize", big), SERVER, SchedulerOptions())
    assert (found.flavor, found.ignored, found.numa, found.pci) == (big, {"h1"}, True, False)
    stays = SchedulerOptions(allow_resize_to_same_host=True)
    assert not moved(request, Move("resize", big), SERVER, stays).ignored


def test_what_cannot_move_is_refused():
    with pytest.raises(MoveImpossible, match="not shelved_offloaded"):
        moved(REQUEST, Move("unshelve"), SERVER, SchedulerOptions())
    shelved = ScheduledServer("server", "web", "cell1", None, "shelved_offloaded")
    assert moved(REQUEST, Move("unshelve"), shelved, SchedulerOptions()).cell == "cell1"
    with pytest.raises(MoveImpossible, match="on no host"):
        moved(REQUEST, Move("evacuate"), shelved, SchedulerOptions())
