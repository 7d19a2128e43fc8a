# SPDX-License-Identifier: Apache-2.0
import pytest
from webob.acceptparse import create_accept_header

from trueup.placement.api.accept import quality

TYPES = ("text/html", "application/json")


@pytest.mark.parametrize(
    "accept",
    [
        "", ",", "*", "x", "*/*", "*/json", "application/*", "application/json", "Application/JSON",
        "application/json,", "application/json, ", " application/json", "application/json ",
        ", ,text/html", "text/html, application/json;q=0.5", "text/html,,application/json;q=0",
        "application/json;q=0", "application/json;q=9", "application/json;q=x", ";q=1", "ä",
        "application/json;q=1.0000", "application/json;q=0.1234", "application/json;Q=0.5",
        "application/json;q=1;x=1;y", "application/json; x=1", 'application/json;x="a,b/c;q=1"',
        'application/json;x="a', "text/*;q=0.3, */*;q=0", "*/*;q=0.1,application/json;q=0",
        "text/html;level=1, application/json;q=0.2", "application/json;q=0.2,application/json",
        "application/json,application/json;q=0.2", "*/*;q=0.2,*/*",
        "text/html;q=0.7 , application/json ; q=0.8",
    ],
)  # fmt: skip
def test_it_reads_the_header_as_upstream_does(accept: str) -> None:
    liked = dict(create_accept_header(accept).acceptable_offers(TYPES))
    assert {name: quality(accept, name) for name in TYPES} == {
        name: liked.get(name, 0.0) for name in TYPES
    }
