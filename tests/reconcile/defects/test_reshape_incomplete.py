# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import declined, found, reason, verdicts
from trueup.reconcile.defects import reshape_incomplete

CLOUD = "cell1\n  host h1 {} {}=8 VCPU=8\nprovider gpu of h1 {}=4\n"


@pytest.mark.parametrize(
    ("name", "moved"),
    [
        ("VGPU", True),
        ("MEM_ENCRYPTION_CONTEXT", True),
        ("CUSTOM_GPU", False),
        ("SRIOV_NET_VF", False),
    ],
)
def test_only_classes_that_releases_of_nova_moved_are_half_moved(name, moved):
    assert bool(verdicts(reshape_incomplete, CLOUD.format("", name, name))) is moved


def test_a_nova_compute_that_starts_may_be_moving_them():
    assert "may still be starting" in reason(
        reshape_incomplete, CLOUD.format("made=20", "VGPU", "VGPU")
    )


def test_an_allocation_that_stayed_behind_is_named_with_its_provider():
    cloud = "cell1\n  host h1 VCPU=8\nprovider gpu of h1 VGPU=4\nholds web h1 VGPU=1\n"
    [row] = found(reshape_incomplete, cloud).evidence["classes"]
    assert (row["name"], row["held_of"]) == ("VGPU", "h1")


def test_only_nova_compute_knows_which_child_a_device_belongs_to():
    words = declined(reshape_incomplete, CLOUD.format("", "VGPU", "VGPU"))
    assert "restart the nova-compute of this host" in words


def test_a_class_that_is_on_the_root_alone_was_not_moved_at_all():
    """As with a release that has it there."""
    assert (
        verdicts(reshape_incomplete, "cell1\n  host h1 VCPU=8 VGPU=4\nholds web h1 VGPU=1\n") == []
    )
