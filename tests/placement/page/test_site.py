# SPDX-License-Identifier: Apache-2.0
"""Each page over a small ledger: what it shows, what it refuses, and that all is escaped."""

import re
import sqlite3
from contextlib import closing
from threading import Lock
from urllib.parse import quote

import pytest
import requests

from tests.clouds import damage
from tests.placement.client import UUID
from tests.placement.page import ledger
from tests.placement.page.ledger import CHILD, FULL, HOST, HOSTILE, ROWLESS
from trueup.capacity.in_ledger import fits
from trueup.placement import why
from trueup.placement.page import views
from trueup.placement.page.site import Site
from trueup.web.server import Answer, Request

PATHS = (
    "/", "/?page=1", "/capacity", "/search", "/search?q=script", f"/provider/{UUID(HOST)}",
    f"/provider/{UUID(CHILD)}", f"/consumer/{UUID(102)}", "/why", "/searches",
    "/why?query=resources%3DVCPU%3A9", "/nothing", "/fits", "/fits?query=resources%3DVCPU%3A1",
    f"/fits?query={HOSTILE}", f"/search?q={HOSTILE}", f"/why?query={HOSTILE}",
    f"/provider/{HOSTILE}", f"/consumer/{HOSTILE}",
)  # fmt: skip


def get(site_url: str, path: str) -> requests.Response:
    return requests.get(site_url + path, timeout=30)


def text(site_url: str, path: str) -> str:
    """The words of a page, without its markup."""
    answer = get(site_url, path)
    assert answer.status_code == 200, answer.text
    main = re.search(r"<main.*</main>", answer.text, re.DOTALL)
    assert main
    return " ".join(re.sub(r"<[^>]+>", " ", main[0]).replace("\u202f", "").split())


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_is_escaped_guarded_and_without_a_script(site_url, path):
    answer = get(site_url, path)
    assert "<script" not in answer.text.lower()
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "script-src" not in policy
    assert "unsafe" not in policy
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    assert " style=" not in answer.text


def test_as_many_fit_as_the_ledger_has_room_for(site_url):
    found = text(site_url, "/fits?query=resources%3DVCPU%3A2")
    assert "2 more fit, on 1 host, at most 2 on one." in found
    assert "What keeps the next one away: VCPU: 2 hosts" in found


def test_a_query_that_the_service_refuses_is_not_counted(ledger_url):
    for query in ("resources=NONE:1", "resources=", "nothing"):
        answer = asked(ledger_url, "/fits", f"query={quote(query)}")
        assert (answer.status, b'role="alert"' in answer.content) == (400, True), query


@pytest.mark.parametrize("path", PATHS)
def test_every_link_of_a_page_leads_somewhere(site_url, path):
    for link in set(re.findall(r'href="(/[^"]*)"', get(site_url, path).text)):
        assert get(site_url, link.replace("&amp;", "&")).status_code == 200, link


def test_the_list_has_each_tree_with_its_usage(site_url):
    found = text(site_url, "/")
    assert "2 providers without a parent" in found
    assert "VCPU 3 of 8 VGPU 1 of 2" in found
    assert "VCPU 4 of 3" in found


def test_the_list_is_paged(ledger_url, monkeypatch):
    monkeypatch.setattr(views, "TREES_MAX", 1)
    assert "Page 2 of 2" in asked(ledger_url, "/", "page=2").content.decode()
    assert "Page 2 of 2" in asked(ledger_url, "/", "page=77").content.decode()
    monkeypatch.setattr(views, "MEMBERS_MAX", 0)
    assert (
        "usage is too low here"
        in asked(ledger_url, "/", "page=1").content.decode()
        + asked(ledger_url, "/", "page=2").content.decode()
    )


def test_capacity_is_of_all_together(site_url):
    assert "VCPU 7 4 11" in text(site_url, "/capacity")
    assert "VGPU 1 1 2" in text(site_url, "/capacity")


def test_one_provider(site_url):
    found = text(site_url, f"/provider/{UUID(HOST)}")
    for words in (UUID(HOST), "HW_CPU_X86_AVX2", UUID(50), "VCPU 3 5 8 8 0 1.0 1", UUID(101)):
        assert words in found
    assert "2 consumers of this provider." in found
    child = text(site_url, f"/provider/{UUID(CHILD)}")
    assert "It is in no aggregate." in child
    assert "1 consumer of this provider." in child


def test_its_consumers_are_paged(ledger_url, monkeypatch):
    monkeypatch.setattr(views, "HOLDERS_MAX", 1)
    first, second = (
        asked(ledger_url, f"/provider/{UUID(HOST)}", f"page={number}").content.decode()
        for number in (1, 2)
    )
    assert (UUID(101) in first, UUID(102) in first) == (True, False)
    assert (UUID(101) in second, UUID(102) in second) == (False, True)


def test_one_consumer(site_url):
    found = text(site_url, f"/consumer/{UUID(101)}")
    for words in ("INSTANCE", "a-project", "a-user", "Generation 1", "VCPU 2", "VGPU 1"):
        assert words in found


def test_rows_that_do_not_fit_are_told(site_url, tmp_path):
    assert "the ledger does not know their owner" in text(site_url, f"/consumer/{ROWLESS}")
    assert "has no row of its own" in text(site_url, f"/provider/{UUID(FULL)}")
    url = ledger.write(tmp_path)
    damage.execute(url, "DELETE FROM inventories WHERE total = 2")
    rootless = "root_provider_id = NULL, parent_provider_id = 999"
    damage.execute(url, f"UPDATE resource_providers SET {rootless} WHERE uuid = '{UUID(FULL)}'")
    assert b"held, without an inventory" in asked(url, f"/provider/{UUID(CHILD)}").content
    broken = asked(url, f"/provider/{UUID(FULL)}").content
    assert b"its row is gone" in broken
    assert b"none is recorded" in broken


def test_a_search(site_url):
    assert UUID(HOST) in text(site_url, "/search?q=SCRIPT")
    assert "In this aggregate" in text(site_url, f"/search?q={UUID(50)}")
    assert UUID(101) in text(site_url, "/search?q=a-project")
    assert "No provider or consumer has nobody in its name" in text(site_url, "/search?q=nobody")
    assert "Type a part" in text(site_url, "/search?q=+%00")


def test_why_tells_which_filter_leaves_out_the_last_host(site_url):
    found = text(site_url, "/why?query=resources%3DVCPU%3A6&microversion=1.36")
    assert "No host is left after resources=VCPU:6: it leaves out the last 2 of 2." in found
    assert "VCPU: 5 free of 8" in found


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("query=resources%3DNOBODY%3A1", "No such resource class NOBODY"),
        ("query=resources%3DVCPU%3A1&microversion=9", "microversion 9"),
        (f"query={'x' * 8001}", "longer than 8000"),
    ],
)
def test_a_question_that_cannot_be_asked_is_told_beside_the_form(site_url, query, says):
    answer = get(site_url, f"/why?{query}")
    assert answer.status_code == 400
    assert says in answer.text
    assert "<textarea" in answer.text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nothing", 404),
        (f"/provider/{UUID(9)}", 404),
        (f"/consumer/{UUID(9)}", 404),
        ("/provider/%00%ff", 404),
        ("/?page=0", 400),
        ("/?page=-1", 400),
        ("/?page=%C2%B2", 400),
        (f"/?page={'9' * 5000}", 400),
        (f"/search?q={'x' * 256}", 400),
        ("/?" + "&".join(f"a{n}=1" for n in range(30)), 400),
    ],
)
def test_an_unknown_path_is_a_page_too(site_url, path, status):
    answer = get(site_url, path)
    assert answer.status_code == status
    assert "<h1>" in answer.text


def test_each_request_reads_the_ledger_anew(tmp_path):
    url = ledger.write(tmp_path)
    assert b"fresh-name" not in asked(url, "/").content
    damage.execute(
        url, f"UPDATE resource_providers SET name = 'fresh-name' WHERE uuid = '{UUID(FULL)}'"
    )
    assert b"fresh-name" in asked(url, "/").content


def test_nothing_is_written(tmp_path):
    url = ledger.write(tmp_path)

    def dumped() -> list[str]:
        with closing(sqlite3.connect(tmp_path / "placement.sqlite")) as connection:
            return list(connection.iterdump())

    before = dumped()
    for path in PATHS:
        asked(url, *path.split("?"))
    assert dumped() == before


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8779", 200),
        ("127.0.0.1", 200),
        ("[::1]:8779", 200),
        ("", 200),
        ("evil.example:8779", 421),
        ("127.0.0.1.evil.example", 421),
        ("[", 421),
    ],
)
def test_a_name_of_a_stranger_for_this_address_gets_nothing(ledger_url, host, status):
    names = {"localhost", "127.0.0.1", "::1"}
    with closing(why.open_ledger((), ledger_url)) as database:
        for path in ("/", "/style.css"):
            found = Site(database, names, "1", fits).answer(Request(path, "", host))
            assert found.status == status
            assert (b"harmed" in found.content) == (status == 200 and path == "/")


def test_one_question_about_candidates_at_a_time(ledger_url, monkeypatch):
    monkeypatch.setattr("trueup.placement.page.site._WAIT_SECONDS", 0)
    busy = Lock()
    busy.acquire()
    with closing(why.open_ledger((), ledger_url)) as database:
        site = Site(database, None, "1", fits, _asking=busy)
        found = site.answer(Request("/why", "query=resources=VCPU:1"))
        assert (found.status, b"ask again" in found.content) == (503, True)
        assert site.answer(Request("/", "")).status == 200


def test_a_database_that_is_away_or_broken_is_told(tmp_path):
    assert asked("mysql+pymysql://x@127.0.0.1:1/p", "/").status == 503
    (tmp_path / "empty.sqlite").touch()
    found = asked(f"sqlite:///{tmp_path / 'empty.sqlite'}", "/")
    assert (found.status, b"cannot be read" in found.content) == (500, True)


def asked(url: str, path: str, query: str = "") -> Answer:
    with closing(why.open_ledger((), url)) as database:
        return Site(database, None, "1", fits).answer(Request(path, query))
