# SPDX-License-Identifier: Apache-2.0
import pytest

from trueup.reconcile.facts import is_uuid, is_uuid_in_any_form, other_forms

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


@pytest.mark.parametrize(
    ("text", "expected"),
    [(UUID, True), (UUID.upper(), True), (UUID.replace("-", ""), True), ("rack-1", False)],
)
def test_a_uuid_in_another_form_is_told_from_a_text_that_is_none(text, expected):
    assert is_uuid_in_any_form(text) == expected


def test_a_uuid_may_be_written_in_capitals_and_without_dashes():
    digits = UUID.replace("-", "")
    assert other_forms([UUID, "rack-1", ""]) == sorted([UUID.upper(), digits, digits.upper()])


def test_digits_alone_have_no_capitals():
    uuid = "11111111-2222-4333-8444-555555555555"
    assert other_forms([uuid]) == [uuid.replace("-", "")]
