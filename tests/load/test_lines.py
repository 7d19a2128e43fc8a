# SPDX-License-Identifier: Apache-2.0
"""Every usual form of log gives the same facts."""

import pytest

from trueup.load.lines import Asked, requests_in, requests_of_metrics

UUID = "4e8e5957-649f-477b-9e5b-f1f75b21c03c"
URL = f"/placement/resource_providers/{UUID}/inventories"
ROUTE = "/resource_providers/{}/inventories"
OSLO = "2026-11-26 21:00:01.250 7 INFO placement.requestlog [req-1 req-2 u p - default default]"
APACHE = "10.0.0.5 - - [26/Nov/2026:21:00:01 +0000]"
PLACEMENT = f'{OSLO} 10.0.0.5 "GET {URL}" status: 200 len: 412 microversion: 1.39'
UWSGI = (
    "[pid: 9|app: 0|req: 3/9] 10.0.0.5 () {64 vars in 1200 bytes} [Thu Nov 26 21:00:01 "
    f"2026] GET {URL} => generated 412 bytes in 2 msecs (HTTP/1.1 200) 8 headers in 300 "
    "bytes (1 switches on core 0)"
)
HTTP = f'"GET {URL} HTTP/1.1" 200 412'


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        (PLACEMENT, None),
        (f"{PLACEMENT} time: 0.002", 0.002),
        (f"{APACHE} {HTTP}", None),
        (f'{APACHE} {HTTP} "-" "openstacksdk/4.0 keystoneauth1/5.8"', None),
        (f'{APACHE} {HTTP} "-" "an agent" 0.002', 0.002),
        (f'{APACHE} {HTTP} "-" "an agent" 2000', 0.002),
        (f'{APACHE} {HTTP} 2000 "-" "an agent"', 0.002),
        (UWSGI, 0.002),
    ],
)
def test_a_line_says_who_asked_what_and_how_long_it_took(line, seconds):
    [one] = requests_in([line])
    assert (one.client, one.method, one.route, one.status) == ("10.0.0.5", "GET", ROUTE, "200")
    assert one.seconds == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("placement", "seconds"), [(PLACEMENT, 0.002), (f"{PLACEMENT} time: 0.0015", 0.0015)]
)
def test_a_request_counts_once_where_uwsgi_writes_into_the_log_of_placement(placement, seconds):
    [one] = requests_in([placement, UWSGI] * 3)
    assert (one.requests, one.seconds) == (3, pytest.approx(3 * seconds))


def test_seconds_of_a_part_of_the_requests_are_not_those_of_all():
    [one] = requests_in([PLACEMENT, f"{PLACEMENT} time: 0.002"])
    assert (one.requests, one.seconds) == (2, None)


def test_what_is_no_request_to_the_api_is_passed_over():
    others = ["", "a traceback", f'{APACHE} "GET /dashboard/ HTTP/1.1" 200 12']
    assert list(requests_in(others)) == []


def test_metrics_are_requests_of_all_clients():
    labels = 'method="GET",route="/usages",status="200"'
    lines = [
        "# TYPE trueup_placement_request_seconds histogram",
        f'trueup_placement_request_seconds_bucket{{{labels},le="0.1"}} 4.0',
        f"trueup_placement_request_seconds_count{{{labels}}} 4.0",
        f"trueup_placement_request_seconds_sum{{{labels}}} 0.5",
    ]
    assert list(requests_of_metrics(lines)) == [Asked("", "GET", "/usages", "200", 4, 0.5)]
