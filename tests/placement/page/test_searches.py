# SPDX-License-Identifier: Apache-2.0
"""What the page shows of a log is what the service writes there."""

import logging
from pathlib import Path

from tests.placement.client import Client
from trueup.capacity.in_ledger import fits
from trueup.placement.app import make_app
from trueup.placement.page.searches import SHOWN_MAX, last_searches, shapes
from trueup.placement.page.site import Site
from trueup.placement.store import schema
from trueup.web.server import Request

LOGGER = "trueup.placement.api.handlers.candidates"
LINE = "2026-11-21 12:00:{:02} 7 INFO x [req-1 a b] No candidates ({}): no host is left after {}. "
ASKED = "Asked: {}"


def line(second: int, query: str, reason: str = "capacity", decisive: str = "resources=VCPU:4"):
    return LINE.format(second, reason, decisive) + ASKED.format(query)


def test_searches_that_differ_in_their_place_only_count_as_one():
    found = shapes(
        [
            line(1, "limit=1000&member_of=in:a,b&resources=VCPU:4&required=FAST"),
            line(2, "resources=DISK_GB:9", "class", "resources=DISK_GB:9"),
            line(3, "required=FAST&resources=VCPU%3A4&in_tree=c"),
            "another line",
        ]
    )
    assert [(one.asked, one.count, one.last) for one in found] == [
        ("resources=VCPU:4 required=FAST", 2, "2026-11-21 12:00:03"),
        ("resources=DISK_GB:9", 1, "2026-11-21 12:00:02"),
    ]
    assert (found[1].reason, found[1].filter) == ("class", "resources=DISK_GB:9")
    assert len(shapes(line(1, f"resources=VCPU:{n}") for n in range(SHOWN_MAX + 5))) == SHOWN_MAX


def test_the_service_writes_such_lines_if_asked_for(tmp_path, caplog):
    url = f"sqlite:///{tmp_path / 'placement.sqlite'}"
    schema.create(url)
    caplog.set_level(logging.INFO, LOGGER)
    query = "/allocation_candidates?resources=VCPU:1"
    for trueup in ({}, {"log_empty_searches": True}):
        application = make_app(url, {"api": {"auth_strategy": "noauth2"}, "trueup": trueup})
        assert Client(application).get(query).status == 200
        application.close()
    [written] = [one.getMessage() for one in caplog.records if one.name == LOGGER]
    [shape] = shapes([written])
    assert (shape.asked, shape.reason) == ("resources=VCPU:1", "class")


def test_the_page_shows_them_and_says_where_they_come_from(tmp_path: Path):
    log = tmp_path / "placement.log"
    log.write_text(line(1, "resources=VCPU:4&required=<script>") + "\n")

    def shown(path: Path | None) -> str:
        site = Site(None, None, "1", fits, path)
        return site.answer(Request("/searches")).content.decode()

    assert "&lt;script&gt;" in shown(log)
    assert "log_empty_searches = true" in shown(None)
    assert "cannot be read" in shown(tmp_path / "none")
    assert last_searches(log)[0].count == 1
