# SPDX-License-Identifier: Apache-2.0
"""A request, hosts and options in; what each filter leaves out, and the nearest."""

from dataclasses import replace
from datetime import datetime

import pytest

from tests.reconcile.scheduling.server_cells import server_cells
from trueup.reconcile.facts import (
    ComputeService,
    Flavor,
    HostAggregate,
    HostCell,
    HostTopology,
    PciRequest,
    ScheduledServer,
    ScheduleRequest,
    SchedulerHost,
    SchedulerOptions,
)
from trueup.reconcile.scheduling import Filtered, Move, MoveImpossible, Refused, filtered, moved
from trueup.reconcile.scheduling.filters import filter_named

NOW = datetime(2026, 11, 21, 12)
RATIOS = {"cpu_allocation_ratio": 4.0, "ram_allocation_ratio": 1.0}
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
    [step] = found.steps
    assert (step.left, step.lost) == (1, 1)
    assert step.nearest == (("uuid-pool", "no such compute node"),)


def test_a_forced_host_is_asked_nothing_else():
    request = ScheduleRequest("server", "p1", SMALL, forced_hosts=("B",))
    down = host("b", service=ComputeService("cell1", "b", True, NOW))
    found = run(request, host("a"), down)
    assert [step.name for step in found.steps] == ["hosts that are forced"]
    assert found.passing == {"uuid-b"}


def test_a_filter_that_is_not_known_leaves_out_nobody_and_is_named():
    enabled = "NUMATopologyFilter PciPassthroughFilter OurOwnFilter"
    found = run(REQUEST, host("a"), host("b"), enabled=enabled)
    assert (found.left, [step.name for step in found.not_judged]) == (2, ["OurOwnFilter"])
    assert found.not_judged[0].open == (("Trueup does not know this filter", 2),)


def test_numa_cells_that_lack_something_are_named():
    cells = HostTopology((HostCell(0, frozenset(), frozenset({0, 1, 2}), 1024),))
    hosts = (
        host("a", numa=cells, attributes=RATIOS),
        host("b", attributes=RATIOS),
        host("c", numa=HostTopology(None)),
    )
    pair, quad = (replace(REQUEST, numa=server_cells(0, count, 64)) for count in (2, 4))
    [numa] = run(quad, *hosts, enabled="NUMATopologyFilter").steps
    assert numa.nearest == (
        ("a", "cell 0: 3 dedicated CPUs are free, 4 are needed"),
        ("b", "reports no NUMA cells"),
    )
    assert numa.open == (("a NUMA topology cannot be read", 1),)
    assert run(pair, *hosts, enabled="NUMATopologyFilter").passing == {"uuid-a", "uuid-c"}


def test_devices_may_be_too_few_or_in_another_cell():
    cells = HostTopology(
        tuple(HostCell(n, frozenset({n}), frozenset(), 1024, networks=n == 1) for n in range(2))
    )
    card = PciRequest("r1", 2, "card", specs=({"vendor_id": "10DE"},), numa_policy="required")
    far = {"vendor_id": "10de", "numa_node": 1, "count": 1}
    hosts = (
        host("a", pools=(far,), numa=cells, attributes=RATIOS),
        host("b", pools=(far, far), numa=cells, attributes=RATIOS),
        host("c", pools=None),
    )
    request = replace(REQUEST, devices=(card,))
    [devices] = run(request, *hosts, enabled="PciPassthroughFilter").steps
    assert devices.nearest == (("a", "1 free devices of card, 2 are needed"),)
    assert devices.open == (("PCI devices cannot be read", 1),)
    with_cell = replace(request, numa=server_cells(1, 0, 64))
    [numa] = run(with_cell, *hosts[:2], enabled="NUMATopologyFilter").steps
    assert numa.nearest == (("a", "0 free devices of card near its cells 0, 2 are needed"),)
    assert numa.open == (("it depends on the physical networks of the ports", 1),)


def test_devices_that_placement_gives_are_at_most_those_that_are_free():
    card = PciRequest("r1", 1, "card", specs=({"vendor_id": "10de"},))
    hosts = (host("a", pools=({"vendor_id": "10de", "count": 1},)), host("b"))
    options = SchedulerOptions(enabled_filters=("PciPassthroughFilter",), pci_in_placement=True)
    request, uuids = replace(REQUEST, devices=(card,)), [row.uuid for row in hosts]
    [devices] = filtered(request, hosts, uuids, options, NOW).steps
    assert devices.nearest == (("b", "0 free devices of card, 1 are needed"),)
    assert devices.open == (("it depends on the devices that Placement gives", 1),)


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
    assert (found.flavor, found.ignored) == (big, {"h1"})
    assert found.numa is not None
    assert len((found.numa.cells or ())[0].pinned) == 8
    stays = SchedulerOptions(allow_resize_to_same_host=True)
    assert not moved(request, Move("resize", big), SERVER, stays).ignored


def test_a_new_flavor_asks_for_its_own_cells_and_devices():
    devices = (PciRequest("r1", 1, "card"), PciRequest("r2", 1, None))
    request = replace(REQUEST, devices=devices, numa=server_cells(1, 0, 64))

    def resized(specs: dict[str, str]) -> ScheduleRequest:
        big = Flavor("big", 2, 64, 1, 0, 0, specs)
        return moved(request, Move("resize", big), SERVER, SchedulerOptions())

    plain = resized({})
    assert (plain.numa, plain.devices, plain.unread) == (None, devices[1:], frozenset())
    assert resized({"pci_passthrough:alias": "gpu:1"}).unread == {"PciPassthroughFilter"}
    assert resized({"resources:PCPU": "2"}).unread == {"NUMATopologyFilter"}
    with pytest.raises(Refused):
        resized({"hw:numa_nodes": "3"})
    # A cold migration keeps its flavor, and what Nova made of it.
    assert moved(request, Move("resize", SMALL), SERVER, SchedulerOptions()).devices == devices


def test_what_cannot_move_is_refused():
    with pytest.raises(MoveImpossible, match="not shelved_offloaded"):
        moved(REQUEST, Move("unshelve"), SERVER, SchedulerOptions())
    shelved = ScheduledServer("server", "web", "cell1", None, "shelved_offloaded")
    assert moved(REQUEST, Move("unshelve"), shelved, SchedulerOptions()).cell == "cell1"
    with pytest.raises(MoveImpossible, match="on no host"):
        moved(REQUEST, Move("evacuate"), shelved, SchedulerOptions())
