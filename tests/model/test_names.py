# SPDX-License-Identifier: Apache-2.0
import pytest

from trueup.model.names import canonical_uuid, is_custom, is_uuid

PLAIN = "5eb033fd-c550-420e-a31c-3ec2703a403c"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PLAIN, True),
        (PLAIN.upper(), True),
        (PLAIN.replace("-", ""), True),
        (f"{{{PLAIN}}}", True),
        (f"urn:uuid:{PLAIN}", True),
        (PLAIN[:-1], False),
        ("host1", False),
        ("", False),
        (None, False),
        (5, False),
    ],
)
def test_uuids_are_recognized_in_all_their_forms(text: object, expected: bool) -> None:
    assert is_uuid(text) is expected


def test_the_ledger_keeps_one_form() -> None:
    assert canonical_uuid(PLAIN.replace("-", "").upper()) == PLAIN


def test_operators_own_the_custom_names() -> None:
    assert is_custom("CUSTOM_GOLD")
    assert not is_custom("VCPU")
