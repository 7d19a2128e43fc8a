# SPDX-License-Identifier: Apache-2.0
import pytest

from trueup.placement.api.versions import NEWEST, OLDEST, Malformed, Unacceptable, V, negotiate


def test_each_microversion_has_a_number_a_name_and_a_sentence() -> None:
    assert [int(version) for version in V] == list(range(40))
    assert all(version.sentence.endswith(".") for version in V)
    assert str(V.MAPPINGS) == "1.34"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, OLDEST),
        ("", OLDEST),
        ("compute 2.53", OLDEST),
        ("placement 1.28", V.CONSUMER_GENERATION),
        ("placement latest", NEWEST),
        ("compute 2.53, placement 1.10", V.CANDIDATES),
    ],
)
def test_the_header_says_which_is_meant(header: str | None, expected: V) -> None:
    assert negotiate(header) is expected


def test_an_unknown_microversion_is_not_acceptable() -> None:
    for header in ("placement 1.40", "placement 0.9", "placement 2.0"):
        with pytest.raises(Unacceptable, match="Unacceptable version header"):
            negotiate(header)


def test_other_text_is_malformed() -> None:
    for header in ("placement pony", "placement 1.2.3"):
        with pytest.raises(Malformed, match="invalid version string"):
            negotiate(header)
