# SPDX-License-Identifier: Apache-2.0
"""What a rebuilt ledger leaves out, or only copies, has a line that says why."""

from dataclasses import replace

import pytest

from tests.reconcile.planning import facts_of
from tests.reconcile.runbooks.rebuilding import answered, made, with_node, without_ledger
from tests.scenarios.names import uuid_of
from trueup.reconcile.facts import Facts, HostDefaults
from trueup.reconcile.reasons import because
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.runbooks.rebuild import HostsOfNova, rebuilt
from trueup.reconcile.runbooks.rebuild_consumers import LedgerLine
from trueup.reconcile.runbooks.rebuild_gaps import with_gaps
from trueup.reconcile.verdicts import AuditOptions

WEB, DB = uuid_of("web"), uuid_of("db")
TWO = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  host h2 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  server web on h1 VCPU=2 MEMORY_MB=256
  server db on h2 VCPU=1 MEMORY_MB=64
holds web h1 VCPU=2 MEMORY_MB=256
holds db h2 VCPU=1 MEMORY_MB=64
"""
REBOOTING = TWO.replace("server web on h1", "server web on h1 task=rebooting")


def instance(text: str, **columns: str | None) -> Facts:
    facts = facts_of(text)
    rows = (replace(row, **columns) if row.uuid == WEB else row for row in facts.instances)
    return replace(facts, instances=tuple(rows))


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (with_node(facts_of(TWO), "h1", uuid=""), "its compute node h1 has no uuid in cell1"),
        (with_node(facts_of(TWO), "h1", node="h1.new"), "no compute node for host h1, node h1"),
        (instance(TWO, host=None, node=None), "its vm state is active, and Nova has it on no host"),
        (instance(TWO, flavor=None), "its flavor could not be read"),
    ],
)
def test_what_is_left_out_of_a_lost_ledger_has_a_line(facts, why):
    result = made(without_ledger(facts))
    assert result.allocations.keys() == {DB}
    lines = answered(result)
    assert lines[WEB].startswith("could not be checked: ")
    assert why in lines[WEB]
    assert WEB in {one.uuid for one in result.gaps}
    assert lines[DB].startswith("missing-allocation: ")


def test_so_has_its_host():
    gone = made(without_ledger(with_node(facts_of(TWO), "h1", uuid="")))
    assert {row.name for row in gone.facts.providers.values()} == {"h2"}
    assert answered(gone)["h1"] == "could not be checked: its compute node h1 has no uuid in cell1"
    unknown = HostsOfNova({}, HostDefaults())
    empty = rebuilt(without_ledger(facts_of(TWO)), unknown, {}, AuditOptions())
    assert answered(empty)["h1"].endswith("neither Nova nor Placement says what it has")


def test_each_bare_metal_node_of_a_host_has_its_line():
    text = """
cell1
  host node1 compute=c1 hypervisor=ironic CUSTOM_BM=1
  host node2 compute=c1 hypervisor=ironic CUSTOM_BM=1
"""
    result = made(without_ledger(with_node(facts_of(text), "c1", uuid="")))
    assert {(one.uuid, one.name) for one in result.gaps} == {("c1", "node1"), ("c1", "node2")}
    assert set(result.gaps) <= set(result.lines)


def test_what_is_in_motion_is_left_out_only_with_a_line():
    there = made(without_ledger(facts_of(REBOOTING)))
    assert (there.allocations.keys(), there.gaps) == ({WEB, DB}, ())
    gone = made(without_ledger(with_node(facts_of(REBOOTING), "h1", uuid="")))
    assert "the provider of host h1, node h1 is not known" in answered(gone)[WEB]


def test_what_the_old_ledger_has_is_kept_and_has_a_line():
    facts = with_node(facts_of(TWO), "h1", uuid="")
    result = made(facts)
    assert {one: held.amounts for one, held in result.allocations.items()} == facts.consumers
    [line] = [one for one in result.lines if one.uuid == WEB]
    assert (line.old, line.new) == ("VCPU=2 MEMORY_MB=256 on h1",) * 2
    assert in_words(line.reason) == "could not be checked: its compute node h1 has no uuid in cell1"
    busy = made(with_node(facts_of(REBOOTING), "h1", uuid=""))
    assert {one.uuid for one in busy.gaps} == {"h1"}, "what is in motion is as it was"


def test_a_healthy_cloud_has_none():
    assert made(facts_of(TWO)).gaps == ()
    assert made(without_ledger(facts_of(TWO))).gaps == ()


def test_what_an_audit_still_finds_in_the_new_ledger_has_a_line():
    """The bandwidth was lost before, and either bridge may have given it."""
    text = TWO + (
        "provider h1:br0 of h1 NET_BW=1000\nprovider h1:br1 of h1 NET_BW=1000\n"
        "port p1 of web NET_BW=100 type=direct\n"
    )
    result = made(facts_of(text))
    assert [row.defect for row in result.audit.findings] == ["missing-port-allocation"]
    [line] = [one for one in result.lines if one.uuid == WEB]
    assert in_words(line.reason) == "left to 'trueup plan': missing-port-allocation"
    assert line.old == line.new == "VCPU=2 MEMORY_MB=256 on h1"
    assert result.gaps == ()


def test_traits_that_only_nova_compute_can_report_are_named():
    facts = facts_of(TWO)
    flavored = tuple(
        replace(row, flavor=replace(row.flavor, extra_specs={"trait:HW_CPU_X86_AVX2": "required"}))
        for row in facts.instances
        if row.uuid == WEB
    )
    others = tuple(row for row in facts.instances if row.uuid != WEB)
    result = made(without_ledger(replace(facts, instances=(*flavored, *others))))
    [line] = [one for one in result.lines if one.kind == "traits"]
    assert (line.name, line.reason) == (
        "h1",
        because("traits-unreported", traits="HW_CPU_X86_AVX2"),
    )


def test_a_consumer_has_one_line():
    made_of = LedgerLine("consumer", "a", "web", "", "VCPU=1 on h1", because("held-nothing"))
    copied = LedgerLine(
        "consumer", "b", "db", "VCPU=1 on h1", "VCPU=1 on h1", because("copied-deleted")
    )
    other = LedgerLine("traits", "a", "h1", "", "T", because("service-disabled"))
    unread = because("unchecked", because("flavor-unreadable"))
    gaps = [replace(one, reason=unread) for one in (copied, made_of)]
    merged = with_gaps((made_of, copied, other), (*gaps, replace(other, kind="host", uuid="h1")))
    assert [(one.kind, one.uuid, in_words(one.reason)) for one in merged] == [
        (
            "consumer",
            "a",
            "Placement had nothing; could not be checked: its flavor could not be read",
        ),
        ("consumer", "b", "could not be checked: its flavor could not be read"),
        ("traits", "a", "its compute service is disabled"),
        ("host", "h1", "its compute service is disabled"),
    ]
