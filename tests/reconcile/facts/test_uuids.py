# SPDX-License-Identifier: Apache-2.0
import pytest

from trueup.reconcile.facts import is_uuid

UUID = "2f26fbc4-be87-443a-bd2d-dea82724964b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (UUID, True),
        (UUID.upper(), False),
        (UUID.replace("-", ""), False),
        (UUID + "\n", False),
        ("rack-1", False),
        ("", False),
    ],
)
def test_only_the_canonical_form_is_a_uuid(text, expected):
    assert is_uuid(text) == expected
