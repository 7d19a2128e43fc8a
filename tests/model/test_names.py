# SPDX-License-Identifier: Apache-2.0
from trueup.model.names import custom_resource_class, is_custom, is_resource_class


def test_operators_own_the_custom_names() -> None:
    assert is_custom("CUSTOM_GOLD")
    assert not is_custom("VCPU")


def test_a_class_is_openstacks_or_an_operators() -> None:
    assert is_resource_class("VCPU")
    assert is_resource_class("CUSTOM_GOLD")
    assert not is_resource_class("GOLD")


def test_a_label_becomes_a_class_as_openstack_makes_it() -> None:
    assert custom_resource_class("PMEM_NAMESPACE_6gb") == "CUSTOM_PMEM_NAMESPACE_6GB"
    assert custom_resource_class("a-b c") == "CUSTOM_A_B_C"
