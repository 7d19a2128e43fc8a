# SPDX-License-Identifier: Apache-2.0
"""What a new ledger holds, and which reason each difference has."""

import pytest

from tests.reconcile.planning import audited, facts_of
from tests.reconcile.runbooks.rebuilding import answered, made, with_node, without_ledger
from tests.scenarios.names import uuid_of
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.runbooks.rebuild import (
    EvidenceIncomplete,
    LedgerFaulty,
    refuse_faulty,
    refuse_incomplete,
    unreported,
)
from trueup.reconcile.verdicts import AuditOptions

HEALTHY = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192 DISK_GB=100 traits=COMPUTE_NODE,CUSTOM_GOLD aggregates=rack,other
  host h2 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  server web on h1 VCPU=2 MEMORY_MB=256
aggregate rack h1
holds web h1 VCPU=2 MEMORY_MB=256
"""


def test_a_ledger_that_is_true_is_copied():
    facts = facts_of(HEALTHY)
    result = made(facts)
    assert result.lines == ()
    [held] = result.allocations.values()
    assert held.amounts == facts.consumers[uuid_of("web")]
    for uuid, old in facts.providers.items():
        new = result.facts.providers[uuid]
        assert (new.inventories, new.traits or frozenset()) == (
            old.inventories, old.traits or frozenset()
        )  # fmt: skip
        assert new.aggregates == (old.aggregates or frozenset())
        assert new.generation > old.generation, "a generation never falls"


def test_a_host_with_another_uuid_keeps_all_that_its_provider_has():
    """The cell's database was restored, and its compute nodes have other uuids."""
    text = HEALTHY.replace("host h1 ", "host h1 uuid=restored ") + "provider nic of h1 NET_BW=100\n"
    facts = facts_of(text)
    result = made(facts)
    [node] = [row.uuid for row in facts.compute_nodes if row.host == "h1"]
    [old] = [row.uuid for row in facts.providers.values() if row.name == "h1"]
    assert node != old
    new = result.facts.providers
    assert old not in new
    assert new[node].inventories == facts.providers[old].inventories
    assert new[node].traits == facts.providers[old].traits
    [nic] = [row for row in new.values() if row.name == "nic"]
    assert (nic.parent, nic.root) == (node, node)
    assert result.allocations[uuid_of("web")].amounts == {node: {"VCPU": 2, "MEMORY_MB": 256}}
    assert answered(result)[node] == "Nova has its host with this uuid"


LOST = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  host h2 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  server web on h1 VCPU=2 MEMORY_MB=256 DISK_GB=6
  server big on h2 state=resized old-VCPU=1 VCPU=4 MEMORY_MB=512
  server shelf
  resize of big from h1 to h2 finished
"""


def test_a_lost_ledger_has_what_novas_rules_say():
    facts = without_ledger(facts_of(LOST))
    result = made(facts)
    by_name = {row.name: row.uuid for row in result.facts.providers.values()}
    assert by_name.keys() == {"h1", "h2"}
    assert result.facts.providers[by_name["h1"]].inventories["VCPU"].allocation_ratio == 4.0
    [move] = facts.migrations
    assert {uuid: dict(held.amounts) for uuid, held in result.allocations.items()} == {
        uuid_of("web"): {by_name["h1"]: {"VCPU": 2, "MEMORY_MB": 256, "DISK_GB": 6}},
        uuid_of("big"): {by_name["h2"]: {"VCPU": 4, "MEMORY_MB": 512}},
        move.uuid: {by_name["h1"]: {"VCPU": 1, "MEMORY_MB": 512}},
    }, "an unconfirmed resize holds both hosts"
    assert {one.kind for one in result.lines} == {"provider", "consumer"}


def test_a_provider_that_was_made_waits_for_its_report():
    lost = made(without_ledger(facts_of(LOST)))
    assert {row.host for row in unreported(lost.facts)} == {"h1", "h2"}
    reported = "traits=COMPUTE_NODE,COMPUTE_TRUSTED_CERTS,OWNER_NOVA"
    there = facts_of(LOST.replace("host h1", f"host h1 {reported}"))
    assert {row.host for row in unreported(there)} == {"h2"}


def test_a_bare_metal_node_waits_for_its_driver():
    text = "cell1\n  host node1 hypervisor=ironic CUSTOM_BM=1\naggregate rack node1\n"
    [kept] = made(facts_of(text)).facts.providers.values()
    assert (set(kept.inventories), kept.aggregates) == ({"CUSTOM_BM"}, frozenset())
    [lost] = made(without_ledger(facts_of(text))).facts.providers.values()
    assert lost.inventories == {}


def test_a_silent_cell_is_refused():
    with pytest.raises(EvidenceIncomplete) as refused:
        refuse_incomplete(facts_of(HEALTHY + "cell2 silent\n"), AuditOptions())
    assert "cell2" in in_words(refused.value.gap)


def test_rows_that_placement_does_not_list_are_refused():
    refuse_faulty(facts_of(HEALTHY))
    broken = facts_of(
        HEALTHY
        + "ledger-fault tree nic its root is not known\n"
        + "ledger-fault consumerless h1 VCPU=2\n"
    )
    with pytest.raises(LedgerFaulty) as refused:
        refuse_faulty(broken)
    tree, usage = refused.value.faults
    assert "its root is not known" in tree
    assert usage.endswith("(VCPU=2 on h1)")


def test_the_audit_is_of_the_new_ledger():
    """Nothing that only the old one has counts as a finding."""
    fault = "ledger-fault consumerless h1 VCPU=2\nowned web project=other user=other\n"
    facts = facts_of(HEALTHY + fault)
    before = {one.defect for one in audited(HEALTHY + fault).findings}
    assert before == {"consumerless-allocation", "wrong-owner"}
    assert made(facts).audit.findings == ()


def test_a_deleted_host_is_left_out_if_nobody_holds_it():
    gone = HEALTHY + "forget h2\n"
    assert {row.name for row in made(facts_of(gone)).facts.providers.values()} == {"h1"}
    held = gone + "holds zun h2 VCPU=1\n"
    assert {row.name for row in made(facts_of(held)).facts.providers.values()} == {"h1", "h2"}


TWINS = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  host h2 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  host h3 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  server web on h1 VCPU=2 MEMORY_MB=256
  server db on h2 VCPU=1 MEMORY_MB=64
holds web h1 VCPU=2 MEMORY_MB=256
holds db h2 VCPU=1 MEMORY_MB=64
"""


def test_two_hosts_with_one_uuid_do_not_become_one_provider():
    """The file compute_id of h1 was cloned to h2."""
    facts = facts_of(TWINS)
    [uuid] = [row.uuid for row in facts.compute_nodes if row.host == "h1"]
    twins = with_node(facts, "h2", uuid=uuid)
    lost = made(without_ledger(twins))
    assert {row.name for row in lost.facts.providers.values()} == {"h3"}
    assert lost.allocations == {}
    for one in ("h1", "h2", uuid_of("web"), uuid_of("db")):
        assert f"compute nodes h1/h1, h2/h2 have one uuid, {uuid}" in answered(lost)[one]
    kept = made(twins)
    assert kept.facts.consumers == facts.consumers
    assert kept.facts.providers.keys() == facts.providers.keys()
    assert {"h1", "h2"} <= {one.uuid for one in kept.gaps}


@pytest.mark.parametrize("name", ["h1", "H1", "h1 "])
def test_two_hosts_with_one_name_do_not_become_two_providers_of_it(name):
    """Placement takes a name once, and databases compare names without case."""
    facts = with_node(facts_of(TWINS), "h2", node=name)
    lost = made(without_ledger(facts))
    assert {row.name for row in lost.facts.providers.values()} == {"h3"}
    for one in ("h1", "h2"):
        assert "and Placement takes a name once" in answered(lost)[one]
    assert {"h1", "h2", uuid_of("web"), uuid_of("db")} <= {one.uuid for one in lost.gaps}
    assert made(facts).facts.providers.keys() == facts.providers.keys()
    # Two restored compute nodes, and the old provider could be of either.
    restored = with_node(with_node(facts, "h1", uuid="11"), "h2", uuid="22")
    new = made(restored)
    names = sorted(row.name for row in new.facts.providers.values())
    assert len(names) == len(set(names)) == 3
    assert {"h1", "h2"} <= {one.uuid for one in new.gaps}
    assert new.facts.consumers == facts.consumers
