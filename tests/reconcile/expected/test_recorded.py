# SPDX-License-Identifier: Apache-2.0
"""What is expected is what a real Nova allocated, consumer by consumer and provider by provider."""

from dataclasses import replace

import pytest

from tests.clouds import answers, recordings
from trueup.reconcile.collect import collect
from trueup.reconcile.expected import Unknown, expected
from trueup.reconcile.facts import NEUTRON, Coverage, Facts, SourceStatus
from trueup.reconcile.reasons import because
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.sources.connect import from_nova_conf
from trueup.reconcile.sources.neutron import parse_port
from trueup.reconcile.sources.nova.api import ANSWERING_CELLS, NovaApi

# The instances of which something else is allocated, by what was done to each cloud.
OTHERWISE = {
    "healthy": set(),
    "every-kind": set(),
    "deleted-by-hand": set(),
    "missing-and-wrong": {"web1", "db1", "app2"},
    "port-without-allocation": {"qos1"},
    "evacuated": {"web1", "web2"},
}


def facts_of(recorded_cloud, name: str) -> Facts:
    """From the databases, and Neutron's ports beside."""
    cloud = from_nova_conf(recorded_cloud(name).nova_conf)
    facts = collect(cloud, lambda *_: None)
    cloud.close()
    ports = tuple(map(parse_port, recordings.ports(name)))
    answered = (*facts.coverage.sources, SourceStatus(NEUTRON, True, len(ports)))
    return replace(facts, ports=ports, coverage=Coverage(answered))


@pytest.mark.parametrize("name", OTHERWISE)
def test_expected_allocations_are_those_that_nova_made(recorded_cloud, name):
    facts = facts_of(recorded_cloud, name)
    otherwise, accounted = set(), set()
    for instance in facts.alive.values():
        for whole in expected(instance, facts):
            assert not whole.open, (instance.name, whole)
            accounted.add(whole.consumer)
            if whole.known != facts.consumers.get(whole.consumer, {}):
                otherwise.add(instance.name)
    assert otherwise == OTHERWISE[name]
    assert facts.consumers.keys() - accounted == facts.consumers.keys() & facts.deleted.keys()


@pytest.mark.parametrize("name", ["uuid-changed", "placement-emptied"])
def test_a_host_whose_provider_is_not_known_says_so(recorded_cloud, name):
    cloud = from_nova_conf(recorded_cloud(name).nova_conf)
    facts = collect(cloud, lambda *_: None)
    cloud.close()
    parts = [
        part
        for one in facts.alive.values()
        for whole in expected(one, facts)
        for part in whole.open
    ]
    unknown = [in_words(part.reason) for part in parts if isinstance(part, Unknown)]
    assert any("the provider of host devstack2" in reason for reason in unknown)


def test_the_api_and_the_databases_give_the_same_expected_allocations(recorded_cloud):
    """The API does not show the flavors of a resize; then the part is Unknown."""
    facts = facts_of(recorded_cloud, "every-kind")
    with answers.replayed(answers.load("every-kind/api")) as adapter:
        read = NovaApi(adapter).contents(ANSWERING_CELLS)
    by_api = replace(
        facts, instances=read.instances, migrations=read.migrations,
        compute_nodes=read.compute_nodes, services=read.services,
        cells={ANSWERING_CELLS.uuid: ANSWERING_CELLS.name},
    )  # fmt: skip
    assert by_api.alive.keys() == facts.alive.keys()
    for uuid, instance in facts.alive.items():
        for ours, theirs in zip(
            expected(instance, facts), expected(by_api.alive[uuid], by_api), strict=True
        ):
            unknown = theirs.consumer != uuid
            assert theirs.open == (
                (Unknown(because("flavor-before-resize-unknown")),) if unknown else ()
            )
            assert unknown or theirs.known == ours.known
