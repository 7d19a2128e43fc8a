# SPDX-License-Identifier: Apache-2.0
import pytest

from trueup.placement.api.errors import Refused
from trueup.placement.api.versions import NEWEST, V
from trueup.placement.api.wire.query import (
    parse_in_tree,
    parse_member_of,
    parse_required,
    parse_resources,
)

RACK, POOL = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2))


def test_resources_are_amounts_by_class() -> None:
    assert parse_resources("VCPU:2,MEMORY_MB:1024") == (("VCPU", 2), ("MEMORY_MB", 1024))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (" ", "Got: empty string"),
        ("VCPU", "Got: VCPU."),
        ("VCPU:1:2", "Got: VCPU:1:2."),
        ("VCPU:one", "expected positive integer amount. Got: one."),
        ("VCPU:0", "requires amount >= 1. Got: 0."),
    ],
)
def test_other_resources_are_refused(value: str, reason: str) -> None:
    with pytest.raises(Refused) as error:
        parse_resources(value)
    assert reason in error.value.detail


def required(*values: str, version: V = NEWEST) -> object:
    return parse_required([("required", value) for value in values], version)


def test_traits_are_required_forbidden_or_alternatives() -> None:
    assert required("A,!B", "in:C,D") == (
        (frozenset("A"), frozenset("CD")),
        frozenset("B"),
    )


def test_before_alternatives_the_last_parameter_counts() -> None:
    assert required("A", "B", version=V.CONSUMER_TYPES) == ((frozenset("B"),), frozenset())


@pytest.mark.parametrize(
    ("value", "version", "reason"),
    [
        ("", NEWEST, "Got an empty trait"),
        ("A,,B", NEWEST, "Got an empty trait"),
        ("!", NEWEST, "Got an empty trait"),
        ("in:A,", NEWEST, "Got an empty trait"),
        ("in:A,!B", NEWEST, "does not support forbidden traits"),
        ("in:A,B", V.CONSUMER_TYPES, "only supported since microversion 1.39"),
        ("!A", V.CANDIDATE_MEMBER_OF, "of the form: HW_CPU_X86_VMX,CUSTOM_MAGIC. Got: !A"),
    ],
)
def test_other_traits_are_refused(value: str, version: V, reason: str) -> None:
    with pytest.raises(Refused) as error:
        required(value, version=version)
    assert reason in error.value.detail


def member_of(*values: str, version: V = NEWEST) -> object:
    return parse_member_of([("member_of", value) for value in values], version)


def test_aggregates_are_required_forbidden_or_alternatives() -> None:
    assert member_of(RACK, f"in:{RACK},{POOL}", f"!{POOL}") == (
        (frozenset({RACK}), frozenset({RACK, POOL})),
        frozenset({POOL}),
    )
    assert member_of(f"!in:{RACK},{POOL}") == ((), frozenset({RACK, POOL}))


@pytest.mark.parametrize(
    ("values", "version", "reason"),
    [
        (["rack"], NEWEST, "valid UUID(s). Got: rack"),
        ([f"{RACK},{POOL}"], NEWEST, "must be prefixed with the 'in:' or '!in:'"),
        ([RACK, POOL], V.ERROR_CODES, "Multiple member_of parameters are not supported"),
        ([f"!{RACK}"], V.IN_TREE, "Forbidden member_of parameters are not supported"),
    ],
)
def test_other_aggregates_are_refused(values: list[str], version: V, reason: str) -> None:
    with pytest.raises(Refused) as error:
        member_of(*values, version=version)
    assert reason in error.value.detail


def test_a_tree_is_named_by_a_uuid() -> None:
    assert parse_in_tree(f" {RACK}") == RACK
    with pytest.raises(Refused, match="to be a format of uuid"):
        parse_in_tree("rack")
