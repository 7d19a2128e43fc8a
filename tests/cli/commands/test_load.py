# SPDX-License-Identifier: Apache-2.0
"""`trueup load` reads a log or metrics; it needs no cloud."""

import pytest

from tests.cli.running import trueup

LINE = '{} "GET /resource_providers/u/aggregates" status: 200 len: 9 microversion: 1.39{}\n'


def test_a_log_is_summed_up_and_names_who_asks_too_often(tmp_path):
    log = tmp_path / "placement.log"
    hosts = [("10.0.0.1", 20), ("10.0.0.2", 20), ("10.0.0.3", 20), ("10.0.0.9", 140)]
    log.write_text("".join(LINE.format(host, " time: 0.01") * number for host, number in hosts))
    ran = trueup("load", "--from-log", log, "-f", "json", "--top", 1)
    assert ran.code == 3
    assert ran.json() == [
        {
            "Client": "10.0.0.9",
            "Requests": 140,
            "Share": "70.0%",
            "Seconds": "1.400",
            "Share of time": "70.0%",
        }
    ]
    assert "10.0.0.9 reads providers 7 times as often as others" in ran.err
    assert "3 rows not shown" in ran.err


def test_a_log_without_times_says_how_to_have_them(tmp_path):
    log = tmp_path / "placement.log"
    log.write_text(LINE.format("10.0.0.1", ""))
    ran = trueup("load", "--from-log", log, "--by", "route,status", "-f", "json")
    [row] = ran.json()
    assert (ran.code, row["Route"]) == (0, "GET /resource_providers/{}/aggregates")
    assert (row["Status"], row["Seconds"]) == ("200", "")
    assert "log_request_time" in ran.err


def test_metrics_are_summed_up_by_route(tmp_path):
    metrics = tmp_path / "metrics"
    name, labels = "trueup_placement_request_seconds", '{method="GET",route="/usages",status="200"}'
    metrics.write_text(f"{name}_count{labels} 2\n{name}_sum{labels} 0.5\n")
    ran = trueup("load", "--from-metrics", metrics, "-f", "json")
    [row] = ran.json()
    assert (row["Route"], row["Requests"], row["Share of time"]) == ("GET /usages", 2, "100.0%")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--from-log /no/such/file", "cannot be read: No such file"),
        ("--from-log x --by nobody", "There are: client, route, status"),
        ("--from-metrics x --by client", "metrics name no clients"),
        ("--from-log x --top 0", "1 or more"),
    ],
)
def test_what_makes_no_sense_is_refused(words, reason):
    ran = trueup("load", *words.split())
    assert (ran.code, reason in ran.err) == (2, True), ran.err


def test_a_log_with_nothing_of_placement_says_so(tmp_path):
    log = tmp_path / "log"
    log.write_text("nothing\n")
    ran = trueup("load", "--from-log", log)
    assert (ran.code, "There is no request to Placement in it." in ran.err) == (0, True)
