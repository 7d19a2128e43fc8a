# SPDX-License-Identifier: Apache-2.0
"""Hosts of moves: which host a migration starts from, and whether it may still run the guest."""

from dataclasses import replace

import pytest

from tests.reconcile.observing import plan_of
from tests.reconcile.planning import facts_of
from tests.scenarios.drafting import NOW, uuid_of
from trueup.reconcile.facts import Facts
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.rules.moves import has_no_domain, left_by, may_run, source_hosts
from trueup.reconcile.steps import ServiceDown

HOSTS = "cell1\n  host h1 VCPU=8 MEMORY_MB=8\n  host h2 VCPU=8 up\n  host h3 VCPU=8 MEMORY_MB=8\n"
UP = (
    "it was evacuated from h2, which is up and has not cleaned up: ask its hypervisor with "
    "--libvirt; restart its nova-compute, or force the service down"
)


def evacuated(source: str, text: str = "") -> Facts:
    """The facts of a cloud in which web was evacuated from this host to h3."""
    server = f"  server web on h3 VCPU=1 MEMORY_MB=1\n  evacuation of web from {source} done\n"
    return facts_of(f"{HOSTS}{server}{text}")


def doubt(facts: Facts) -> str:
    [move] = facts.migrations
    return in_words(may_run(move, facts.record(uuid_of("web")), facts))


@pytest.mark.parametrize(("host", "doubtful"), [("h1", False), ("h2", True)])
def test_a_source_may_run_the_guest_while_its_compute_service_reports(host, doubtful):
    assert bool(doubt(evacuated(host))) is doubtful


def test_a_source_may_run_it_also_without_its_compute_node():
    facts = evacuated("h2")
    assert doubt(replace(facts, compute_nodes=())) == UP
    assert doubt(replace(facts, services=())) != UP


@pytest.mark.parametrize(
    ("said", "proof"),
    [
        ("hypervisor h2\n", True),
        ("hypervisor h2 silent\n", False),
        ("guest web on h2 shut off\n", False),
        ("guest web on h2 shut off foreign\n", False),
    ],
)
def test_a_hypervisor_that_answered_and_has_no_domain_is_proof(said, proof):
    facts = evacuated("h2", said)
    assert has_no_domain("h2", uuid_of("web"), facts) is proof
    assert (doubt(facts) == "") is proof


@pytest.mark.parametrize("source", ["h2", "H2", "h2 node=none", "H2 node=none"])
def test_a_source_that_is_up_may_run_the_guest_however_its_name_is_written(source):
    facts = evacuated(source)
    [move] = facts.migrations
    assert left_by(move, facts) == uuid_of("h2")
    assert doubt(facts) == UP
    services = tuple(replace(row, host=row.host.upper()) for row in facts.services)
    assert doubt(replace(facts, services=services)) == UP
    nodes = tuple(replace(row, host=row.host.upper()) for row in facts.compute_nodes)
    assert doubt(replace(facts, compute_nodes=nodes)) == UP.replace("h2", "H2")


def test_the_provider_of_a_deleted_compute_node_is_known_by_its_uuid():
    facts = evacuated("h2", "  forget h2 service\n")
    [move] = facts.migrations
    renamed = replace(facts.providers[uuid_of("h2")], name="h2-old")
    facts = replace(facts, providers={**facts.providers, renamed.uuid: renamed})
    assert left_by(move, facts) == uuid_of("h2")
    assert doubt(facts) == UP


def test_a_compute_node_without_a_service_may_be_up():
    facts = evacuated("h1", "  forget-service h1\n")
    assert doubt(facts) == (
        "it was evacuated from h1, and cell1 has a compute node and no compute service of it: it "
        "may be up"
    )


def test_a_source_that_is_down_or_deleted_does_not_run_the_guest():
    assert doubt(evacuated("h1")) == ""
    assert doubt(evacuated("h1", "  forget h1\n")) == ""
    facts = evacuated("h1", "  forget h1\n")
    gone = tuple(replace(row, host="h1", deleted=True) for row in facts.services[:1])
    assert doubt(replace(facts, deleted_compute_nodes=(), deleted_services=gone)) == ""


def test_a_source_that_nothing_knows_may_be_up_unless_its_provider_is_held():
    """Deleted rows may be archived; what it left behind, and holds, still has its name."""
    unknown = (
        "it was evacuated from h0, and cell1 knows no host of that name, not even a deleted one: "
        "that host may be up"
    )
    left = "provider h0 VCPU=8\n"
    assert doubt(evacuated("h0")) == unknown
    assert doubt(evacuated("h0", left)) == unknown
    assert doubt(evacuated("h0", f"{left}holds web h0 VCPU=1\n")) == ""
    assert doubt(evacuated("none")) == "it was evacuated, and Nova does not say from which host"


def test_a_host_with_another_name_still_has_its_node():
    facts = evacuated("h2")
    renamed = {"h2": "h2-new"}
    nodes, services = (
        tuple(replace(row, host=renamed.get(row.host, row.host)) for row in rows)
        for rows in (facts.compute_nodes, facts.services)
    )
    now = replace(facts, compute_nodes=nodes, services=services)
    assert doubt(now) == UP.replace("h2", "h2-new")
    # A bare metal node has gone to another nova-compute.
    metal = tuple(replace(row, hypervisor="ironic") for row in nodes)
    [move] = now.migrations
    [source] = source_hosts(move, replace(now, compute_nodes=metal))
    assert (source.name, source.nodes, source.service) == ("h2", (), None)


def test_the_guard_has_the_name_by_which_nova_finds_the_service():
    held = "holds web h1 VCPU=1 MEMORY_MB=1\nholds web h3 VCPU=1 MEMORY_MB=1\n"
    facts = evacuated("H1", held)
    [step] = plan_of(facts).steps
    down = [row for row in step.guards if isinstance(row, ServiceDown)]
    assert down == [ServiceDown(uuid_of("cell1"), "h1")]
    stays = replace(facts.services[0], last_seen=NOW, forced_down=False)
    assert not plan_of(replace(facts, services=(stays, *facts.services[1:]))).steps
