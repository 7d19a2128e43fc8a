# SPDX-License-Identifier: Apache-2.0
import pytest

from trueup.model.errors import BadCapacity
from trueup.model.inventories import Inventory
from trueup.placement.api.versions import V
from trueup.placement.api.wire.inventories import from_wire, refuse_reserved, render_all, render_one


def test_an_absent_field_has_a_default() -> None:
    assert from_wire("VCPU", {"total": 8, "resource_provider_generation": 1}) == Inventory(
        "VCPU", 8
    )


def test_what_is_written_can_be_read() -> None:
    inventory = Inventory("VCPU", 8, 1, 2, 4, 2, 1.5)
    assert from_wire("VCPU", render_one(inventory, 3)) == inventory
    shown = render_all([inventory], 3)["inventories"]
    assert from_wire("VCPU", shown["VCPU"]) == inventory


def test_a_ratio_is_a_float() -> None:
    """JSON and drivers have no integer of more than 64 bits, and a ratio may be one."""
    for ratio in (2, 2**63, 10**30):
        read = from_wire("VCPU", {"total": 8, "allocation_ratio": ratio}).allocation_ratio
        assert type(read) is float
        assert read == float(ratio)


def test_an_unchanged_provider_shows_no_generation() -> None:
    assert "resource_provider_generation" not in render_one(Inventory("VCPU", 8), 0)


def test_all_may_be_reserved_from_1_26() -> None:
    full = [Inventory("VCPU", 8, reserved=8)]
    refuse_reserved("host", full, V.FULLY_RESERVED)
    with pytest.raises(BadCapacity):
        refuse_reserved("host", full, V.GRANULAR)
