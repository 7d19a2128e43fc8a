# SPDX-License-Identifier: Apache-2.0
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.shadow.reads import Read, read_of, recorded

UUID = "4e8e5957-649f-477b-9e5b-f1f75b21c03c"
REQUEST_LOG = (
    "2026-11-22 10:00:00.123 7 INFO placement.requestlog [req-1 req-2 - - - -] 10.0.0.9 "
    '"GET {url}" status: 200 len: 1234 microversion: {version}'
)
UWSGI = (
    "[pid: 12|app: 0|req: 3/9] 10.0.0.9 () {{62 vars in 1200 bytes}} [Sun Nov 22 10:00:00 2026] "
    "GET {url} => generated 1234 bytes in 12 msecs (HTTP/1.1 200) 7 headers in 300 bytes"
)
APACHE = (
    '10.0.0.9 - - [22/Nov/2026:10:00:00 +0000] "GET {url} HTTP/1.1" 200 1234 "-" '
    '"openstacksdk/4.0 keystoneauth1/5.6"'
)
URL = "/allocation_candidates?resources=VCPU%3A1&limit=1000"


@pytest.mark.parametrize("prefix", ["", "/placement", "/api/placement"])
@pytest.mark.parametrize(
    ("line", "version"), [(REQUEST_LOG, "1.36"), (UWSGI, "1.39"), (APACHE, "1.39")]
)
def test_every_format_is_read(line, version, prefix):
    text = line.format(url=prefix + URL, version="1.36")
    assert recorded([text], "1.39").reads == (Read(URL, version),)


def test_a_client_without_a_microversion_stays_one():
    found = recorded([REQUEST_LOG.format(url="/traits", version="-")], "1.39")
    assert found.reads == (Read("/traits", None),)


def test_writes_are_counted_and_never_read():
    lines = [
        REQUEST_LOG.replace("GET", method).format(url=f"/allocations/{UUID}", version="1.28")
        for method in ("PUT", "POST", "DELETE", "PATCH")
    ]
    found = recorded([*lines, "nothing of the kind", ""], "1.39")
    assert (found.reads, found.lines_of_writes) == ((), 4)


def test_each_read_is_there_once():
    line = REQUEST_LOG.format(url="/traits", version="1.36")
    found = recorded([line, line, REQUEST_LOG.format(url="/traits", version="1.6")], "1.39")
    assert found.reads == (Read("/traits", "1.36"), Read("/traits", "1.6"))
    assert found.lines_of_reads == 3


@pytest.mark.parametrize("url", ["/", "/placement", "/healthcheck", "/traitsome", "*"])
def test_other_urls_are_left_out(url):
    assert read_of(url, None) is None


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/resource_providers?in_tree=x", "/resource_providers"),
        (f"/resource_providers/{UUID}", "/resource_providers/{}"),
        (f"/resource_providers/{UUID}/inventories/VCPU", "/resource_providers/{}/inventories/{}"),
        (URL, "/allocation_candidates"),
    ],
)
def test_the_route_has_no_names(path, route):
    assert Read(path, None).route == route


def test_the_limit_can_be_left_out():
    read = Read("/allocation_candidates?resources=VCPU%3A1&limit=5&required=A%2CB", "1.39")
    assert read.without_limit() == Read(
        "/allocation_candidates?resources=VCPU%3A1&required=A%2CB", "1.39"
    )
    assert read.without_limit().without_limit() is None
    assert Read("/resource_providers?limit=5", "1.39").without_limit() is None


@given(st.text())
def test_any_line_can_be_in_a_log(line):
    recorded([line], "1.39")
