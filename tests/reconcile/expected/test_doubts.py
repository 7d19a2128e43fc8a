# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.expected.asking import CELL, ROOT, facts, flavor, instance, provider
from trueup.reconcile.expected import expected_on
from trueup.reconcile.expected.doubts import (
    may_be_of_refused_rebuild,
    may_have_dedicated,
    root_is_volume,
)
from trueup.reconcile.expected.groups import Group
from trueup.reconcile.expected.parts import Unknown
from trueup.reconcile.facts import Flavor, Migration
from trueup.reconcile.reasons import because


def groups(disk_gb):
    return (Group("", {"VCPU": 2, **({"DISK_GB": disk_gb} if disk_gb else {})}),)


@pytest.mark.parametrize(
    ("volume", "disk", "held", "answer"),
    [
        (0, 20, {"h": {"VCPU": 2}}, True),
        (0, 20, {"h": {"VCPU": 2, "DISK_GB": 20}}, False),
        (0, 20, {"h": {"VCPU": 2}, "pool": {"DISK_GB": 20}}, False),
        (5, 25, {"h": {"VCPU": 2, "DISK_GB": 5}}, True),
        (5, 25, {"h": {"VCPU": 2, "DISK_GB": 25}}, False),
        # On two hosts, as after an evacuation.
        (0, 20, {"h": {"DISK_GB": 20}, "other": {"DISK_GB": 20}}, False),
        (5, 25, {"h": {"DISK_GB": 5}, "other": {"DISK_GB": 5}}, True),
        # It makes no difference.
        (0, 0, {}, True),
        (5, 5, {"h": {"DISK_GB": 7}}, True),
        # Neither is held.
        (0, 20, {}, None),
        (0, 20, {"gpu": {"VGPU": 1}}, None),
        (0, 20, {"h": {"VCPU": 2, "DISK_GB": 7}}, None),
        (5, 25, {"h": {"VCPU": 2}}, None),
        (5, 25, {"h": {"DISK_GB": 5}, "other": {"DISK_GB": 25}}, None),
    ],
)
def test_the_disk_that_is_held_tells_whether_the_root_disk_is_a_volume(volume, disk, held, answer):
    assert root_is_volume(held, groups(volume), groups(disk)) is answer


def test_without_request_groups_it_is_not_clear():
    assert (
        root_is_volume({"h": {"VCPU": 2}}, (unknown := Unknown(because("claim-unknown"))), unknown)
        is None
    )


ENCRYPTED = {"hw_mem_encryption": "true"}
HELD = {"h": {"VCPU": 2}, "sev": {"MEM_ENCRYPTION_CONTEXT": 1}}
PLAIN = {"h": {"VCPU": 2}}


@pytest.mark.parametrize(
    ("state", "held", "image", "offered", "doubted"),
    [
        ("error", HELD, {}, True, True),
        ("error", PLAIN, ENCRYPTED, True, True),
        ("error", HELD, ENCRYPTED, True, False),
        ("error", PLAIN, {}, True, False),
        ("error", {}, {}, True, True),
        ("error", {}, {}, False, False),
        ("active", HELD, {}, True, False),
    ],
)
def test_image_properties_are_doubted_in_error_only(state, held, image, offered, doubted):
    flavor = Flavor("small", 2, 256, 0, 0, 0, {})
    web = instance(vm_state=state)
    assert may_be_of_refused_rebuild(held, flavor, image, web, offered) is doubted


def test_a_flavor_with_encrypted_memory_leaves_no_doubt():
    flavor = Flavor("small", 2, 256, 0, 0, 0, {"hw:mem_encryption": "true"})
    assert not may_be_of_refused_rebuild(PLAIN, flavor, {}, instance(vm_state="error"), True)


PINNED = {"hw_cpu_policy": "dedicated"}
HOST = provider(ROOT, "VCPU", "MEMORY_MB", "DISK_GB", name="h1")
MOVE = Migration("move", CELL, "web", "migration", "error", "h2", "h2", "h1", "h1")


@pytest.mark.parametrize(
    ("image", "own", "of_move", "doubted"),
    [
        (PINNED, {}, {}, False),
        (PINNED, {"VCPU": 2, "MEMORY_MB": 256}, {}, False),
        (PINNED, {"VCPU": 1, "MEMORY_MB": 256}, {}, False),
        (PINNED, {"MEMORY_MB": 256}, {}, True),
        (PINNED, {"VGPU": 1}, {}, False),
        (PINNED, {"PCPU": 2}, {}, True),
        (PINNED, {"VCPU": 2, "PCPU": 2}, {}, True),
        (PINNED, {}, {"PCPU": 2}, True),
        (PINNED, {"VCPU": 2}, {"PCPU": 2}, False),
        ({}, {"MEMORY_MB": 256}, {}, False),
        (None, {"MEMORY_MB": 256}, {}, True),
        (None, {"VCPU": 1, "MEMORY_MB": 256}, {}, False),
        ({"hw_cpu_policy": "odd"}, {"MEMORY_MB": 256}, {}, True),
    ],
)
def test_who_holds_dedicated_processors_or_has_lost_them_was_given_them(
    image, own, of_move, doubted
):
    held = {who: {"far": row} for who, row in (("web", own), ("move", of_move)) if row}
    cloud = facts(HOST, consumers=held, migrations=(MOVE,))
    web = instance(image_properties=image)
    assert may_have_dedicated("web", web.flavor, web, cloud) is doubted


def test_a_move_under_way_has_processors_of_its_own():
    moving = Migration("move", CELL, "web", "migration", "finished", "h2", "h2", "h1", "h1")
    cloud = facts(HOST, consumers={"move": {"far": {"PCPU": 2}}}, migrations=(moving,))
    web = instance(image_properties=PINNED)
    assert not may_have_dedicated("web", web.flavor, web, cloud)
    assert may_have_dedicated("move", web.flavor, web, cloud)


def test_without_image_properties_who_holds_dedicated_processors_is_not_judged():
    cloud = facts(HOST, consumers={"web": {"far": {"PCPU": 2}, ROOT: {"MEMORY_MB": 256}}})
    web = instance(image_properties=None, flavor=flavor())
    [part, *_] = expected_on(ROOT, web, cloud).parts
    assert part == Unknown(because("image-unreadable"))
