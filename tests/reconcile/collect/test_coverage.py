# SPDX-License-Identifier: Apache-2.0
"""What each source gave when it was asked, and which of them fell silent."""

from dataclasses import dataclass, field, replace

import pytest

from tests.reconcile.expected.asking import instance
from tests.reconcile.test_collect import quiet
from trueup.reconcile.audit import audit
from trueup.reconcile.clock import now
from trueup.reconcile.collect import collect, coverage
from trueup.reconcile.collect.coverage import Cells, Collected, facts_of, ports_of
from trueup.reconcile.collect.selection import EVERYTHING, Selection
from trueup.reconcile.facts import ComputeNode, Domain, Port
from trueup.reconcile.sources.errors import AccessDenied, Unreachable
from trueup.reconcile.sources.libvirt import HostDomains
from trueup.reconcile.sources.notes import Noted
from trueup.reconcile.sources.nova.contract import CellContents, NovaCell
from trueup.reconcile.verdicts import AuditOptions

HERE, THERE = NovaCell("u1", "cell1", ""), NovaCell("u2", "cell2", "", disabled=True)


def test_what_cells_tell_is_kept_and_counted(small):
    cells = Cells(small.cloud, [HERE, THERE])
    for number in (1, 2):
        reported = cells.ask(lambda cell, n=number: CellContents(noted=Noted(lost_rows=n)))
        assert reported.keys() == {HERE, THERE}
    assert cells.ask(lambda cell: cell.name) == {HERE: "cell1", THERE: "cell2"}
    assert len(cells.contents) == 4
    assert [(one.source, one.rows, one.lost_rows) for one in cells.statuses()] == [
        ("cell1", 3, 3),
        ("cell2", 3, 3),
    ]
    assert cells.names == {"u1": "cell1", "u2": "cell2"}


def test_a_cell_that_was_silent_once_is_not_asked_again(small):
    asked = []

    def ask(cell):
        asked.append(cell)
        if cell is THERE:
            raise Unreachable("cell2", "it is down")
        return CellContents()

    cells = Cells(small.cloud, [HERE, THERE])
    for _ in range(2):
        assert cells.ask(ask).keys() == {HERE}
    assert asked.count(THERE) == 1
    [reported, silent] = cells.statuses()
    assert (reported.answered, silent.answered, silent.reason) == (True, False, "it is down")


class OneNeutron:
    """A Neutron that answers so; `asked` are the instances it was asked about."""

    def __init__(self, answer, lists_any=True):
        self.answer = answer
        self.any = lists_any
        self.asked = None

    def offered(self):
        return self.answer is not None

    def lists_any(self):
        if isinstance(self.any, Exception):
            raise self.any
        return self.any

    def ports(self, counted, devices):
        self.asked = devices
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_ports_are_asked_for_where_there_is_a_neutron(small):
    assert ports_of(small.cloud, quiet) == ((), ())
    assert ports_of(replace(small.cloud, neutron=OneNeutron(None)), quiet) == ((), ())
    port = Port("p", "web", "compute:nova")
    neutron = OneNeutron((port,))
    ports, [answer] = ports_of(replace(small.cloud, neutron=neutron), quiet, ["web"])
    assert (ports, answer.answered, answer.rows) == ((port,), True, 1)
    assert neutron.asked == ["web"]


def test_a_neutron_that_does_not_answer_or_hides_is_silent(small):
    for silence in (Unreachable("Neutron", "gone"), AccessDenied("Neutron", "no")):
        cloud = replace(small.cloud, neutron=OneNeutron(silence))
        ports, [answer] = ports_of(cloud, quiet)
        assert (ports, answer.answered, answer.reason) == ((), False, silence.reason)


def test_domains_are_asked_for_of_each_host_once(small):
    class Hypervisors:
        def domains(self, hosts):
            return iter(
                [HostDomains(one, (Domain("d", one, "n", "running", True),)) for one in hosts]
            )

    [cell, *_] = [one for one in small.cloud.nova.cells() if one.name == "cell1"]
    nodes = small.cloud.nova.hosts(cell).compute_nodes
    unasked = coverage.HypervisorReplies(small.cloud)
    unasked.ask(nodes)
    assert (unasked.domains, unasked.statuses(), unasked.asked) == ((), (), frozenset())
    hosts = {row.host for row in nodes}
    found = coverage.HypervisorReplies(replace(small.cloud, hypervisors=Hypervisors()))
    found.ask(nodes[:1])
    found.ask([*nodes, *nodes])
    assert [one.host for one in found.domains] == sorted(hosts)
    [answer] = found.statuses()
    assert (answer.rows, found.asked, found.guests_of_nova) == (len(hosts), hosts, {"d"})


def test_a_host_of_bare_metal_is_not_asked_for_domains(small):
    """A controller may run both, and its libvirt has none of Ironic's instances."""
    heard = Running("web", "ctl1")
    found = coverage.HypervisorReplies(replace(small.cloud, hypervisors=heard))
    kinds = ("ironic", "VMware vCenter Server", "QEMU", "")
    found.ask([ComputeNode(f"u{n}", "c", f"h{n}", "n", n, kind) for n, kind in enumerate(kinds)])
    assert (heard.asked, found.asked) == (["h2", "h3"], {"h2", "h3"})


@dataclass
class Running:
    """Hypervisors of which one runs a guest of Nova; it is kept who was asked."""

    uuid: str
    host: str
    asked: list[str] = field(default_factory=list)

    def domains(self, hosts):
        every = tuple(hosts)
        self.asked.extend(every)
        guest = Domain(self.uuid, self.host, "instance-1", "running", True)
        return [HostDomains(one, (guest,) if one == self.host else ()) for one in every]


def test_of_a_host_its_own_hypervisor_is_asked_and_all_that_it_has_is_judged(small):
    """Also what holds nothing there: a guest that Nova has deleted, or has on another host."""
    deleted = small.consumer("orphaned-allocation")
    small.sql("placement", "DELETE FROM allocations WHERE consumer_id = ?", deleted)
    whole = collect(small.cloud, quiet)
    first, second = sorted({row.host for row in whole.compute_nodes})[:2]
    living = next(row.uuid for row in whole.alive.values() if row.host == second)
    for uuid, defect, hosts in (
        (deleted, "ghost-domain", {first}),
        (living, "domain-elsewhere", {first, second}),
    ):
        for selection in (EVERYTHING, Selection(hosts=frozenset({first}))):
            heard = Running(uuid, first)
            facts = collect(replace(small.cloud, hypervisors=heard), quiet, selection)
            found = audit(facts, AuditOptions()).findings
            assert defect in {row.defect for row in found if row.subject.uuid == uuid}
        assert hosts <= set(heard.asked) == facts.hypervisors_asked
        assert len(heard.asked) == len(set(heard.asked)), "each is asked once"
        assert set(heard.asked) < {row.host for row in whole.compute_nodes}


def test_a_domain_that_no_cell_knows_is_told_of_a_host_as_of_the_cloud(small):
    stray, host = "0badc0de-0000-4000-8000-000000000001", "compute-01"
    cloud = replace(small.cloud, hypervisors=Running(stray, host))
    for selection in (EVERYTHING, Selection(hosts=frozenset({host}))):
        unchecked = audit(collect(cloud, quiet, selection), AuditOptions()).unchecked
        assert stray in {row.subject.uuid for row in unchecked}


def test_times_are_as_nova_keeps_them():
    assert now().tzinfo is None


def test_an_instance_that_is_returned_again_is_kept_once(small):
    """As by a server that compares without case, for a uuid in capital letters."""
    web, app = instance(uuid="web"), instance(uuid="app")
    cells = Cells(small.cloud, [HERE, THERE])
    for rows in ((web,), (web, app)):
        cells.ask(lambda cell, rows=rows: CellContents(instances=rows))
    assert list(cells.instances) == [web, app, web, app]


@pytest.mark.parametrize(
    ("lists_any", "held", "reason"),
    [
        (True, "NET_BW_EGR_KILOBIT_PER_SEC", ""),
        (False, "VCPU", ""),
        (False, "NET_BW_EGR_KILOBIT_PER_SEC", "it lists no port at all"),
        (Unreachable("Neutron", "gone"), "NET_BW_EGR_KILOBIT_PER_SEC", "gone"),
    ],
)
def test_a_neutron_without_a_single_port_did_not_answer(small, lists_any, held, reason):
    neutron = OneNeutron((), lists_any)
    cloud = replace(small.cloud, neutron=neutron)
    _, reported = ports_of(cloud, quiet)
    made = Collected(
        taken_at=now(),
        cells=Cells(cloud, []),
        registry=cloud.nova.registry([], ()),
        providers={},
        consumers={"web": {"nic": {held: 1}}},
        owners={},
        read_via="API",
        optional=reported,
    )
    [answer] = [row for row in facts_of(cloud, made).coverage.sources if row.source == "Neutron"]
    assert answer.answered == (not reason)
    assert answer.reason.startswith(reason)
