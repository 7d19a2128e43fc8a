# SPDX-License-Identifier: Apache-2.0
"""The versions of targets whose service keeps none follow their contents."""

from msgspec import structs

from trueup.reconcile.steps import DomainText, ProviderContents, ServiceFields, digest

VCPU, DISK = {"total": 8, "reserved": 0}, {"reserved": 1, "total": 9}
CONTENTS = ProviderContents("h1", None, {"VCPU": VCPU, "DISK_GB": DISK}, ("A", "B"), ("x",))


def test_equal_states_have_one_digest_and_nothing_has_none():
    state = ServiceFields(True, "gone", False)
    assert digest(state) == digest(ServiceFields(True, "gone", False))
    assert digest(state) != digest(ServiceFields(False, "gone", False))
    assert digest(None) is None


def test_the_version_of_a_definition_follows_its_text():
    assert DomainText("<a/>").digest == DomainText("<a/>").digest
    assert DomainText("<a/>").digest != DomainText("<b/>").digest


def test_the_order_of_classes_and_of_their_fields_does_not_matter():
    turned = {"DISK_GB": {"total": 9, "reserved": 1}, "VCPU": {"reserved": 0, "total": 8}}
    assert structs.replace(CONTENTS, inventories=turned).digest == CONTENTS.digest


def test_whatever_is_changed_is_another_version():
    others = [
        structs.replace(CONTENTS, name="h2"),
        structs.replace(CONTENTS, parent="p"),
        structs.replace(CONTENTS, inventories={"VCPU": VCPU}),
        structs.replace(CONTENTS, traits=("A",)),
        structs.replace(CONTENTS, aggregates=()),
    ]
    assert len({CONTENTS.digest, *(one.digest for one in others)}) == len(others) + 1
