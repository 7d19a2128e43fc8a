# SPDX-License-Identifier: Apache-2.0
"""Shares, and who asks abnormally often."""

from pathlib import Path
from unittest import mock

from tests.placement.client import UUID
from trueup.load.counting import Busy, Share, busy, load_of, shares
from trueup.load.lines import Asked
from trueup.placement.page.site import Site
from trueup.web.server import Request

PARTS = "/resource_providers/{}/aggregates"


def reads(client: str, number: int, route: str = PARTS, seconds: float | None = None) -> Asked:
    return Asked(client, "GET", route, "200", number, seconds)


def test_who_takes_most_time_comes_first():
    asked = [reads("a", 3, seconds=1.0), reads("b", 1, seconds=2.0), reads("a", 1, seconds=1.0)]
    assert shares([*asked, reads("b", 0, seconds=4.0)], ["client"]) == [
        Share(("b",), 1, 0.2, 6.0, 0.75),
        Share(("a",), 4, 0.8, 2.0, 0.25),
    ]


def test_without_a_time_for_each_request_there_is_no_share_of_time():
    [first, second] = shares([reads("a", 1, seconds=1.0), reads("b", 2)], ["client", "route"])
    assert first.values == ("b", f"GET {PARTS}")
    assert (first.seconds, first.seconds_share, second.requests_share) == (None, None, 1 / 3)
    assert shares([], ["client"]) == []


def test_a_client_that_reads_its_providers_far_more_often_is_named():
    usual = [reads(f"compute-{number}", 100) for number in range(5)]
    asked = [*usual, reads("odd", 401), reads("scheduler", 9_000, "/allocation_candidates")]
    assert list(busy(asked)) == [Busy("odd", 401, 100)]
    assert list(busy([*usual, reads("odd", 400)])) == []


def test_few_clients_or_few_requests_tell_nothing():
    assert list(busy([reads("a", 1), reads("b", 900)])) == []
    assert list(busy([reads("a", 1), reads("b", 1), reads("c", 49)])) == []


def test_the_page_shows_who_asks_and_who_asks_too_often(tmp_path: Path) -> None:
    log = tmp_path / "placement.log"
    line = (
        '{} "GET /resource_providers/{}/aggregates" status: 200 len: 9 microversion: 1.39 time: {}'
    )
    clients = [("<b>", 50)] + [(f"compute-{number}", 2) for number in range(4)]
    lines = [line.format(client, UUID(1), 0.5) for client, times in clients for _ in range(times)]
    log.write_text("\n".join(lines))

    def shown(path: Path | None) -> str:
        site = Site(None, None, "1", mock.Mock(), log=path, load_of=load_of)
        return site.answer(Request("/load")).content.decode()

    page = shown(log)
    assert "<strong>&lt;b&gt;</strong> reads providers abnormally often" in page
    assert "25.000" in page
    assert "GET /resource_providers/{}/aggregates" in page
    assert "trueup page --log FILE" in shown(None)
    assert "cannot be read" in shown(tmp_path / "none")
    assert "no request to Placement" in shown(_empty(tmp_path))


def _empty(folder: Path) -> Path:
    (folder / "empty").touch()
    return folder / "empty"
