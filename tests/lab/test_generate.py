# SPDX-License-Identifier: Apache-2.0
from collections import Counter
from datetime import datetime

import pytest

from trueup.lab.blueprint import LifecycleState
from trueup.lab.generate import BlueprintOptions, CloudTooFull, generate_blueprint

NOW = datetime(2026, 11, 21, 12, 0, 0)
SIZES = [(4, 20), (9, 90), (36, 400)]


def test_the_same_options_give_the_same_blueprint():
    assert generate_blueprint(BlueprintOptions(3, 8, 60, NOW)) == generate_blueprint(
        BlueprintOptions(3, 8, 60, NOW)
    )


def test_another_seed_gives_another_cloud():
    first, second = (generate_blueprint(BlueprintOptions(seed, 8, 60, NOW)) for seed in (3, 4))
    assert {host.uuid for host in first.hosts}.isdisjoint(host.uuid for host in second.hosts)


@pytest.mark.parametrize(("hosts", "instances"), SIZES)
def test_everything_fits_on_its_host(hosts, instances):
    blueprint = generate_blueprint(BlueprintOptions(7, hosts, instances, NOW))
    used: Counter[tuple[str, str]] = Counter()
    for claim in blueprint.claims():
        for name, amount in claim.resources.items():
            used[claim.host.uuid, name] += amount
    for host in blueprint.hosts:
        for name, capacity in host.hardware.capacity().items():
            assert used[host.uuid, name] <= capacity


@pytest.mark.parametrize(("hosts", "instances"), SIZES)
def test_there_is_an_instance_in_each_state_and_as_many_existing_ones_as_requested(
    hosts, instances
):
    found = Counter(
        instance.state
        for instance in generate_blueprint(BlueprintOptions(7, hosts, instances, NOW)).instances
    )
    beside = (
        LifecycleState.BOOTING,
        LifecycleState.FAILED,
        LifecycleState.DELETED,
        LifecycleState.ARCHIVED,
    )
    assert set(found) == set(LifecycleState)
    assert sum(found.values()) - sum(found[state] for state in beside) == instances


def test_every_consumer_claims_once():
    consumers = [
        claim.consumer_uuid
        for claim in generate_blueprint(BlueprintOptions(7, 36, 400, NOW)).claims()
    ]
    assert len(consumers) == len(set(consumers))


def test_moves_stay_within_a_cell_and_between_two_hosts():
    blueprint = generate_blueprint(BlueprintOptions(7, 9, 90, NOW))
    for move in (*blueprint.open_moves, *blueprint.past_moves):
        assert move.source != move.target
        assert move.source.cell == move.target.cell == move.instance.cell


def test_a_resize_holds_the_old_flavor_at_its_source_and_the_new_one_at_its_target():
    blueprint = generate_blueprint(BlueprintOptions(7, 36, 400, NOW))
    claims = {claim.consumer_uuid: claim for claim in blueprint.claims()}
    resizes = [move for move in blueprint.open_moves if move.kind == "resize"]
    assert len(resizes) > 1
    for move in resizes:
        assert claims[move.uuid].host == move.source
        assert claims[move.uuid].resources == move.resources_at_source()
        assert claims[move.instance.uuid].host == move.target == move.instance.host
        assert claims[move.instance.uuid].resources == move.instance.resources()
        assert move.old_flavor != move.instance.flavor


@pytest.mark.parametrize(("hosts", "instances"), [(3, 100), (36, 19)])
def test_too_small_a_cloud_is_refused(hosts, instances):
    with pytest.raises(ValueError, match="at least 4 hosts and 20 instances"):
        BlueprintOptions(7, hosts, instances, NOW)


def test_instances_that_do_not_fit_are_refused():
    with pytest.raises(CloudTooFull, match="ask for more hosts"):
        generate_blueprint(BlueprintOptions(7, 4, 400, NOW))
