# SPDX-License-Identifier: Apache-2.0
"""Parts put together, settled and on the move."""

from dataclasses import replace

from tests.reconcile.expected.asking import CELL, PLAIN, ROOT, facts, flavor, instance, provider
from trueup.reconcile.expected import (
    ExpectedAllocation,
    Known,
    NotOurs,
    Share,
    Unknown,
    expected,
    expected_on,
)
from trueup.reconcile.facts import Coverage, Migration, Port, PortRequestGroup
from trueup.reconcile.reasons import because

BANDWIDTH = {"NET_BW_EGR_KILOBIT_PER_SEC": 1000}
NIC = provider("nic", *BANDWIDTH)
ROOT2 = provider("root-of-h2", "VCPU", "MEMORY_MB", "DISK_GB", root="root-of-h2", name="h2")
SMALL, BIG = flavor(vcpus=1), flavor(vcpus=8)


def move(kind="resize", status="finished", target="h2"):
    return Migration("m1", CELL, "web", kind, status, "h1", "h1", target, target)


def known(consumer, provider_uuid, vcpus):
    amounts = {"VCPU": vcpus, "MEMORY_MB": 256}
    return ExpectedAllocation(consumer, (Known("flavor", amounts, provider_uuid),))


def test_a_settled_instance_holds_its_flavor_on_its_host():
    assert expected(instance(), facts(PLAIN)) == (known("web", ROOT, 2),)
    assert expected_on(ROOT, instance(), facts(PLAIN)) == known("web", ROOT, 2)


def test_flavors_of_one_name_and_size_may_differ_in_their_extra_specs():
    cloud = facts(PLAIN)
    plain, without = instance(), instance(flavor=flavor({"resources:VCPU": "0"}))
    assert expected_on(ROOT, plain, cloud) == known("web", ROOT, 2)
    assert "VCPU" not in expected_on(ROOT, without, cloud).known[ROOT]
    assert expected_on(ROOT, plain, cloud) == known("web", ROOT, 2)


def test_images_and_volumes_tell_instances_of_one_flavor_apart():
    cloud = facts(provider(ROOT, "VCPU", "PCPU", "MEMORY_MB", "DISK_GB"))
    big = flavor(root_gb=20)
    pinned = instance(flavor=big, image_properties={"hw_cpu_policy": "dedicated"})
    on_volume = instance(flavor=big, volume_backed=True)
    shared = {"VCPU": 2, "MEMORY_MB": 256, "DISK_GB": 20}
    of_volume = {"VCPU": 2, "MEMORY_MB": 256}
    dedicated = {"PCPU": 2, "MEMORY_MB": 256, "DISK_GB": 20}
    every = [(instance(flavor=big), shared), (pinned, dedicated), (on_volume, of_volume)]
    for one, amounts in every:
        assert expected_on(ROOT, one, cloud).known == {ROOT: amounts}


def test_an_instance_on_no_host_holds_nothing():
    shelved = instance(host=None, node=None)
    assert expected(shelved, facts(PLAIN)) == (ExpectedAllocation("web", ()),)


def test_a_flavor_that_was_not_read_is_unknown():
    [whole] = expected(instance(flavor=None), facts(PLAIN))
    assert whole.open == (Unknown(because("flavor-unreadable")),)


def test_a_host_without_a_provider_is_not_known():
    for cloud in (facts(), facts(PLAIN, compute_nodes=())):
        [whole] = expected(instance(), cloud)
        assert whole.open == (Unknown(because("provider-of-host-unknown", host="h1", node="h1")),)


def test_an_unconfirmed_resize_holds_the_new_flavor_there_and_the_old_one_here():
    cloud = facts(PLAIN, ROOT2, nodes={"h2": ROOT2.uuid}, migrations=(move(),))
    web = instance(host="h2", node="h2", flavor=BIG, new_flavor=BIG, old_flavor=SMALL)
    assert expected(web, cloud) == (known("web", ROOT2.uuid, 8), known("m1", ROOT, 1))


def test_a_resize_on_its_own_host_holds_both_flavors_there():
    cloud = facts(PLAIN, migrations=(move(target="h1"),))
    web = instance(flavor=BIG, new_flavor=BIG, old_flavor=SMALL)
    assert expected(web, cloud) == (known("web", ROOT, 8), known("m1", ROOT, 1))


def test_a_live_migration_holds_the_same_on_both_hosts():
    running = move("live-migration", "running")
    cloud = facts(PLAIN, ROOT2, nodes={"h2": ROOT2.uuid}, migrations=(running,))
    assert expected(instance(), cloud) == (known("web", ROOT2.uuid, 2), known("m1", ROOT, 2))


def test_a_move_whose_target_is_not_chosen_is_not_known_there():
    queued = Migration("m1", CELL, "web", "live-migration", "queued", "h1", "h1")
    there, here = expected(instance(), facts(PLAIN, migrations=(queued,)))
    assert there.open == (Unknown(because("host-not-chosen")),)
    assert here == known("m1", ROOT, 2)


def test_during_an_evacuation_the_allocation_is_unknown():
    [whole] = expected(instance(), facts(PLAIN, migrations=(move("evacuation", "accepted"),)))
    assert whole.open == (Unknown(because("evacuation-in-progress")),)


def test_a_completed_move_does_not_count():
    assert expected(instance(), facts(PLAIN, migrations=(move(status="confirmed"),))) == (
        known("web", ROOT, 2),
    )


def test_ports_are_added_to_the_flavor():
    group = PortRequestGroup("p1", (), BANDWIDTH)
    port = Port("p1", "web", "compute:nova", request_groups=(group,), allocation={"p1": "nic"})
    [whole] = expected(instance(ports_hold=True), facts(PLAIN, NIC, ports=(port,)))
    assert whole.known == {ROOT: {"VCPU": 2, "MEMORY_MB": 256}, "nic": BANDWIDTH}
    assert not whole.open


def test_without_neutron_only_ports_that_hold_something_are_not_known():
    silent = {"coverage": Coverage(())}
    [whole] = expected(instance(ports_hold=True), facts(PLAIN, NIC, **silent))
    assert whole.open == (Unknown(because("ports-not-read"), frozenset({Share.PORTS})),)
    [whole] = expected(instance(), facts(PLAIN, NIC, **silent))
    assert not whole.open


def test_dedicated_cpus_asked_for_by_the_image():
    pinned = instance(image_properties={"hw_cpu_policy": "dedicated"})
    modern = provider(ROOT, "VCPU", "PCPU", "MEMORY_MB")
    assert expected_on(ROOT, pinned, facts(modern)).known[ROOT] == {"PCPU": 2, "MEMORY_MB": 256}


def test_on_a_host_without_dedicated_cpus_shared_ones_are_expected():
    pinned = instance(flavor=flavor({"hw:cpu_policy": "dedicated"}))
    assert expected_on(ROOT, pinned, facts(PLAIN)) == known("web", ROOT, 2)


def test_accelerators_belong_to_cyborg():
    [whole] = expected(instance(flavor=flavor({"accel:device_profile": "fpga"})), facts(PLAIN))
    assert whole.open == (NotOurs("device profile fpga", {}, "Cyborg"),)


def test_requests_that_nova_refuses_are_unknown():
    odd = instance(flavor=flavor({"hw:cpu_policy": "loose"}))
    modern = provider(ROOT, "VCPU", "PCPU", "MEMORY_MB")
    assert expected_on(ROOT, odd, facts(modern)).open == (
        Unknown(because("cpu-policy-unknown", policy="loose")),
    )


def test_missing_image_properties_matter_only_if_the_host_has_the_inventory():
    told_nothing = instance(image_properties=None)
    assert expected_on(ROOT, told_nothing, facts(PLAIN)) == known("web", ROOT, 2)
    for name in ("PCPU", "MEM_ENCRYPTION_CONTEXT"):
        modern = provider(ROOT, "VCPU", "MEMORY_MB", name)
        assert expected_on(ROOT, told_nothing, facts(modern)).open == (
            Unknown(because("image-unreadable")),
        )


def test_missing_flavors_of_a_resize_are_unknown():
    cloud = facts(PLAIN, ROOT2, nodes={"h2": ROOT2.uuid}, migrations=(move(),))
    there, here = expected(instance(host="h2", node="h2", flavor=BIG), cloud)
    assert there == known("web", ROOT2.uuid, 8)
    assert here.open == (Unknown(because("flavor-before-resize-unknown")),)
    begun = replace(cloud, migrations=(move(status="migrating"),))
    there, _ = expected(instance(flavor=SMALL), begun)
    assert there.open == (Unknown(because("flavor-unreadable")),)
