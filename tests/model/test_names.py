# SPDX-License-Identifier: Apache-2.0
from trueup.model.names import is_custom


def test_operators_own_the_custom_names() -> None:
    assert is_custom("CUSTOM_GOLD")
    assert not is_custom("VCPU")
