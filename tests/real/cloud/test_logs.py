# SPDX-License-Identifier: Apache-2.0
"""The reader of logs finds every error and every failed request: the verdict rests on it."""

from tests.real.cloud.logs import (
    LogBook,
    LoggedError,
    LoggedRequest,
    errors_in,
    requests_in,
    service_of,
)

AT = "2026-11-22 04:31:21.547 738"
REQUEST = "[None req-bba69c3e-979d-483a-86c8-45e5a13eb28a admin - - - default default]"
INSTANCE = "[instance: 5eb033fd-d3a4-4bf2-bdea-25eb6a6f4e9e]"
FAILED = f"""\
{AT} INFO nova.compute.claims {REQUEST} {INSTANCE} Claim successful on node compute1
{AT} ERROR nova.compute.manager {REQUEST} {INSTANCE} Instance on compute2 failed 3 times: X
{AT} ERROR nova.compute.manager Traceback (most recent call last):
{AT} ERROR nova.compute.manager   File "nova/compute.py", line 3, in build
{AT} ERROR nova.compute.manager
{AT} CRITICAL nova {REQUEST} Unhandled error: {{"errors": [{{"status": 404}}]}}
"""
SERVED = (
    "[pid: 7|app: 0|req: 3/9] 127.0.0.1 () {36 vars in 581 bytes} [Sun Nov 22 04:31:28 2026] "
    "GET /allocations/5eb0?a=b => generated 19 bytes in 3 msecs (HTTP/1.1 503) 7 headers in 250"
)


def test_errors_lose_what_differs_from_run_to_run():
    assert list(errors_in("nova-compute", FAILED.splitlines())) == [
        LoggedError("nova-compute", "nova.compute.manager", "Instance on NAME failed N times: X"),
        LoggedError("nova-compute", "nova", "Unhandled error: ERROR DOCUMENT"),
    ]


def test_a_request_has_its_status():
    assert list(requests_in([SERVED, "*** Starting uWSGI ***"])) == [
        LoggedRequest("GET", "/allocations/5eb0?a=b", 503)
    ]


def test_a_chapter_has_what_was_written_after_it_began(tmp_path):
    log = tmp_path / "nova-compute-compute1.log"
    book = LogBook(tmp_path)
    book.begin("upstream")
    log.write_text(FAILED)
    book.begin("trueup")
    with log.open("a") as more:
        more.write(FAILED.splitlines()[-1] + "\n")
    assert (book.errors("upstream").total(), book.errors("trueup").total()) == (2, 1)


def test_hosts_cells_and_both_placements_are_one_service(tmp_path):
    assert service_of(tmp_path / "nova-conductor-cell2.log") == "nova-conductor"
    assert service_of(tmp_path / "placement-trueup.log") == "placement"
