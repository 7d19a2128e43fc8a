# SPDX-License-Identifier: Apache-2.0
"""Nova's network caches are read where an instance holds more than its ports request."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import pytest

from tests.reconcile.expected.asking import instance
from trueup.reconcile.collect.cached_ports import read_other_holders, with_unlisted_ports
from trueup.reconcile.collect.coverage import Cells
from trueup.reconcile.facts import Port, PortRequestGroup, SourceStatus
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.nova.contract import CellContents, NovaCell

HERE = NovaCell("u1", "cell1", "")
BANDWIDTH = {"NET_BW_EGR_KILOBIT_PER_SEC": 1000}
ANSWERED, SILENT = (SourceStatus("Neutron", answered=one) for one in (True, False))


@dataclass
class Cached:
    """A Nova with these ports in its caches. `asked` are the instances it was asked about."""

    ports: dict[str, tuple[str, ...]]
    asked: set[str] = field(default_factory=set)
    read_via: str = "database"

    def cached_ports(self, cell: NovaCell, uuids: Iterable[str]) -> dict[str, tuple[str, ...]]:
        self.asked |= set(uuids)
        return {uuid: known for uuid, known in self.ports.items() if uuid in self.asked}


@dataclass
class Holding:
    """A Nova in which this instance has every port."""

    holder: str
    read_via: str = "database"

    def port_holders(self, cell: NovaCell, ports: Iterable[str]) -> frozenset[str]:
        return frozenset([self.holder])

    def instances(self, cell: NovaCell, uuids: Iterable[str]) -> CellContents:
        return CellContents(instances=tuple(instance(uuid=uuid) for uuid in uuids))


@dataclass
class Listing:
    """A Neutron that lists these; None: it does not answer any more."""

    found: frozenset[tuple[str, str]] | None

    def listed(self, ports: Iterable[str]) -> frozenset[tuple[str, str]]:
        if self.found is None:
            raise Unreachable("Neutron", "gone")
        return self.found


def unlisted(small, held, requested, neutron, status=ANSWERED):
    """Which instances Nova is asked about, and the ports that the one instance may hold."""
    nova = Cached({"web": ("p1", "p2")})
    cloud = replace(small.cloud, nova=nova, neutron=neutron)
    cells = Cells(cloud, [HERE])
    cells.ask(lambda _: CellContents(instances=(instance(uuid="web"),)))
    group = PortRequestGroup("g", (), requested)
    port = Port("p1", "web", "compute:nova", "", "h1", request_groups=(group,))
    with_unlisted_ports(cloud, cells, {"web": {"nic": held}}, (port,), (status,))
    [row] = cells.instances
    return nova.asked, row.ports_holding


@pytest.mark.parametrize(
    ("listed", "ports"),
    [
        ({("web", "p1"), ("web", "p2")}, ()),
        ({("web", "p1"), ("db", "p2")}, ("p2",)),
        (None, ("p1", "p2")),
    ],
)
def test_a_port_that_is_not_listed_as_the_instances_may_hold_the_rest(small, listed, ports):
    neutron = Listing(None if listed is None else frozenset(listed))
    assert unlisted(small, BANDWIDTH, {}, neutron) == ({"web"}, ports)


@pytest.mark.parametrize(
    ("held", "requested", "status"),
    [(BANDWIDTH, BANDWIDTH, ANSWERED), ({"VCPU": 1}, {}, ANSWERED), (BANDWIDTH, {}, SILENT)],
)
def test_who_holds_what_its_ports_request_is_not_looked_at(small, held, requested, status):
    assert unlisted(small, held, requested, Listing(frozenset()), status) == (set(), ())


@pytest.mark.parametrize(("held", "read"), [({}, {"web", "db"}), ({"nic": BANDWIDTH}, {"web"})])
def test_who_else_has_a_port_is_asked_only_where_its_instance_holds_too_little(small, held, read):
    cloud = replace(small.cloud, nova=Holding("db"))
    cells = Cells(cloud, [HERE])
    cells.ask(lambda _: CellContents(instances=(instance(uuid="web"),)))
    group = PortRequestGroup("g", (), BANDWIDTH)
    port = Port("p1", "web", "compute:nova", "", "h1", request_groups=(group,))
    read_other_holders(cloud, cells, {"web": held}, (port,))
    assert {row.uuid for row in cells.instances} == read
