# SPDX-License-Identifier: Apache-2.0
import pytest

from trueup.model.errors import CapacityExceeded, NotAllocatable, ProviderNotFound


def test_errors_are_values() -> None:
    assert ProviderNotFound("a") == ProviderNotFound("a")
    assert len({ProviderNotFound("a"), ProviderNotFound("a"), ProviderNotFound("b")}) == 2


def test_all_capacity_errors_have_one_type() -> None:
    with pytest.raises(NotAllocatable):
        raise CapacityExceeded(provider="host", resource_class="VCPU")
