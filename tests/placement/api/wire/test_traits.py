# SPDX-License-Identifier: Apache-2.0
import pytest

from trueup.placement.api.errors import Refused
from trueup.placement.api.wire.traits import refuse_bad_name


def test_operators_name_traits_with_the_custom_prefix() -> None:
    refuse_bad_name("CUSTOM_FAST_9")


@pytest.mark.parametrize("name", ["FAST", "CUSTOM_", "CUSTOM_fast", f"CUSTOM_{'A' * 249}"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(Refused, match="The trait is invalid"):
        refuse_bad_name(name)
