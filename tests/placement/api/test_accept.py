# SPDX-License-Identifier: Apache-2.0
import pytest

from trueup.placement.api.accept import quality


@pytest.mark.parametrize(
    ("accept", "html", "json"),
    [
        # The most exact range counts, and of repeated ones the first.
        ("*/*;q=0.1, application/json;q=0", 0.1, 0),
        ("text/*;q=0.3, */*;q=0", 0.3, 0),
        ("application/json;q=0.2, application/json", 0, 0.2),
        ("text/html;q=0.7 , Application/JSON ; Q=0.8", 0.7, 0.8),
        # Neither of the two types.
        ("image/png", 0, 0),
        ("application/json;level=1", 0, 0),
        # A malformed header is read as if there were none.
        ("application/json;q=9", 1, 1),
        ("application/json;q=0.1234", 1, 1),
        ('application/json;x="a', 1, 1),
        ("x", 1, 1),
        # A range with parameters and wildcards still matches.
        ("*/*;v=1", 1, 1),
    ],
)
def test_quality_of_media_types(accept: str, html: float, json: float) -> None:
    assert (quality(accept, "text/html"), quality(accept, "application/json")) == (html, json)
