# SPDX-License-Identifier: Apache-2.0
"""The state of an instance determines what it holds in Placement."""

from datetime import datetime

import pytest

from trueup.lab.blueprint import (
    CELL_ZERO,
    Blueprint,
    Claim,
    Hardware,
    Host,
    Instance,
    LifecycleState,
    Move,
    Tenant,
)
from trueup.lab.flavors import FLAVORS, Flavor

NOW = datetime(2026, 11, 21, 12, 0, 0)
TENANT = Tenant("a-project", "a-user")
HARDWARE = Hardware(vcpus=16, memory_mb=4096, disk_gb=100)
TINY, SMALL = FLAVORS[0], FLAVORS[1]


def host(number: int) -> Host:
    name = f"host{number}"
    return Host(number, f"node-{number}", f"service-{number}", name, name, CELL_ZERO, HARDWARE)


SOURCE, TARGET = host(1), host(2)


def instance(
    state: LifecycleState, place: Host | None = SOURCE, flavor: Flavor = SMALL, **changes: bool
) -> Instance:
    return Instance(
        number=1,
        uuid="server",
        name="web",
        state=state,
        flavor=flavor,
        volume_backed=changes.get("volume_backed", False),
        tenant=TENANT,
        cell=CELL_ZERO,
        host=place,
        created_at=NOW,
        updated_at=NOW,
    )


def move(kind: str, moved: Instance, old_flavor: Flavor) -> Move:
    return Move(1, "move", kind, "running", moved, old_flavor, SOURCE, TARGET, NOW, NOW)


def cloud(
    *instances: Instance,
    boots: tuple[Claim, ...] = (),
    open_moves: tuple[Move, ...] = (),
    past_moves: tuple[Move, ...] = (),
    containers: tuple[Claim, ...] = (),
) -> Blueprint:
    return Blueprint(
        now=NOW,
        cells=(CELL_ZERO,),
        hosts=(SOURCE, TARGET),
        aggregates=(),
        instances=instances,
        boots=boots,
        open_moves=open_moves,
        past_moves=past_moves,
        containers=containers,
    )


def test_only_vcpus_are_overcommitted_and_memory_is_reserved_for_the_host():
    assert HARDWARE.capacity() == {"VCPU": 64, "MEMORY_MB": 3584, "DISK_GB": 100}


@pytest.mark.parametrize(
    "state",
    [
        LifecycleState.ACTIVE,
        LifecycleState.STOPPED,
        LifecycleState.SOFT_DELETED,
        LifecycleState.RESIZED,
    ],
)
def test_an_instance_on_a_host_holds_its_flavor_there(state):
    assert cloud(instance(state)).claims() == (
        Claim("server", TENANT, SOURCE, {"VCPU": 1, "MEMORY_MB": 2048, "DISK_GB": 20}),
    )


@pytest.mark.parametrize(
    ("state", "place"),
    [
        (LifecycleState.SHELVED, None),
        (LifecycleState.FAILED, None),
        (LifecycleState.BOOTING, None),
        (LifecycleState.DELETED, SOURCE),
        (LifecycleState.ARCHIVED, SOURCE),
    ],
)
def test_an_instance_that_is_deleted_or_on_no_host_holds_nothing(state, place):
    assert cloud(instance(state, place)).claims() == ()


def test_a_volume_backed_instance_holds_no_root_disk():
    active = instance(LifecycleState.ACTIVE, volume_backed=True)
    assert active.resources() == {"VCPU": 1, "MEMORY_MB": 2048}
    assert move("resize", active, TINY).resources_at_source() == {
        "VCPU": 1,
        "MEMORY_MB": 512,
        "DISK_GB": 1,
    }


def test_during_a_live_migration_the_instance_holds_the_target_and_the_migration_the_source():
    migrating = instance(LifecycleState.MIGRATING, SOURCE)
    claims = cloud(migrating, open_moves=(move("live-migration", migrating, SMALL),)).claims()
    held = SMALL.resources(volume_backed=False)
    assert len(claims) == 2
    assert {claim.consumer_uuid: (claim.host, claim.resources) for claim in claims} == {
        "server": (TARGET, held),
        "move": (SOURCE, held),
    }


def test_an_unconfirmed_resize_holds_the_old_flavor_at_its_source():
    resized = instance(LifecycleState.RESIZED, TARGET, SMALL)
    claims = cloud(resized, open_moves=(move("resize", resized, TINY),)).nova_claims()
    assert {claim.consumer_uuid: (claim.host, claim.resources) for claim in claims} == {
        "server": (TARGET, SMALL.resources(volume_backed=False)),
        "move": (SOURCE, TINY.resources(volume_backed=False)),
    }


def test_a_completed_move_holds_nothing():
    active = instance(LifecycleState.ACTIVE, SOURCE)
    claims = cloud(active, past_moves=(move("resize", active, TINY),)).claims()
    assert [(claim.consumer_uuid, claim.host) for claim in claims] == [("server", SOURCE)]


def test_novas_claims_include_boots_but_not_containers():
    boot = Claim("booting", TENANT, SOURCE, {"VCPU": 1})
    container = Claim("container", Tenant("zun", "zun"), TARGET, {"VCPU": 2})
    blueprint = cloud(boots=(boot,), containers=(container,))
    assert tuple(blueprint.nova_claims()) == (boot,)
    assert blueprint.claims() == (boot, container)
