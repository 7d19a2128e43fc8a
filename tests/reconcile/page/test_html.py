# SPDX-License-Identifier: Apache-2.0
"""The page as HTML: complete, escaped, without a network, and opened in a real browser."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from tests.reconcile.page.paging import CLASH, HOSTILE, page_about, page_about_facts, renamed
from tests.reconcile.planning import BROKEN, facts_of
from tests.reconcile.report.showing import MIXED
from tests.scenarios.drafting import uuid_of
from tests.servers.browser import Browser
from trueup.reconcile.page.html import html_of

SILENT = "cell1\n  host h1 VCPU=8\ncell2 silent\n"
HOLDS_TOO_MUCH = (
    "cell1\n  host h1 VCPU=8 MEMORY_MB=4096 DISK_GB=99\n"
    "  server web on h1 VCPU=2 MEMORY_MB=1024 DISK_GB=10\n"
    "holds web h1 VCPU=4 MEMORY_MB=1024 DISK_GB=10\n"
)
VOID = frozenset({"meta", "input", "link", "br", "img"})


class Elements(HTMLParser):
    """Every element with its attributes; complains about tags that do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.every: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.every.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.every if name == tag]


def html(text: str) -> str:
    return html_of(page_about(text)).decode()


def elements(text: str) -> Elements:
    parser = Elements()
    parser.feed(html(text))
    assert parser.open == []
    return parser


@pytest.mark.parametrize("text", ["", BROKEN, MIXED, SILENT])
def test_the_markup_is_whole_and_its_links_lead_somewhere(text):
    found = elements(text)
    ids = [attributes["id"] for _, attributes in found.every if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes in found.named("a"):
        assert attributes["href"].removeprefix("#") in ids
    for _, attributes in found.every:
        assert set((attributes.get("aria-labelledby") or "").split()) <= set(ids)


def test_it_loads_nothing_and_only_its_own_script_may_run():
    found = elements(MIXED)
    assert not [one for _, one in found.every if "src" in one or "action" in one]
    assert not found.named("link")
    assert "url(" not in html(MIXED)
    assert not re.findall(r"https?://", html(MIXED))
    [policy] = [one["content"] for one in found.named("meta") if one.get("http-equiv")]
    assert policy.startswith("default-src 'none'")
    assert "script-src 'sha256-" in policy


def test_a_screen_reader_finds_landmarks_headings_and_table_headers():
    found = elements(MIXED)
    assert {"main", "nav", "header", "footer", "search"} <= {tag for tag, _ in found.every}
    headings = [int(tag[1]) for tag, _ in found.every if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))
    assert all("scope" in one for one in found.named("th"))
    assert found.named("html") == [{"lang": "en"}]


def test_what_comes_from_the_cloud_is_escaped_wherever_it_stands():
    facts = renamed(renamed(facts_of(BROKEN), "web", HOSTILE), "old", HOSTILE)
    page = html_of(page_about_facts(facts)).decode()
    assert HOSTILE not in page
    assert page.count("&lt;script&gt;window.harmed") >= 2


def test_a_name_that_is_no_unicode_makes_a_page_all_the_same():
    page = html_of(page_about_facts(renamed(facts_of(BROKEN), "web", "web\ud800"))).decode()
    assert "web?" in page


def test_uuids_are_whole():
    page = html(BROKEN)
    for name in ("old", "web", "db", "h1", "h2"):
        assert uuid_of(name) in page


def test_a_silent_cell_is_marked_by_a_word_and_not_only_by_a_colour():
    assert '<tr class="silent"><th scope="row">cell2</th><td class="state">silent</td>' in html(
        SILENT
    )


@pytest.mark.parametrize(("text", "is_open"), [("", False), (SILENT, True)])
def test_coverage_is_one_line_while_every_source_answered(text, is_open):
    section = html(text).split('id="coverage"')[1]
    assert section.split("<details")[1].startswith(" open>") is is_open


def test_a_healthy_host_costs_little():
    def size(hosts: int) -> int:
        lines = [f"  host h{n} VCPU=8 MEMORY_MB=64 DISK_GB=9\n" for n in range(hosts)]
        return len(html("cell1\n" + "".join(lines)))

    assert size(60) - size(10) < 50 * 1000


# In a real browser.


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Browser]:
    """The page of a cloud whose user calls an instance a script, at the size of a small desk."""
    path = tmp_path / "page.html"
    path.write_bytes(html_of(page_about_facts(renamed(facts_of(MIXED), "web", HOSTILE))))
    browser.complaints.clear()
    browser.look(1280, 800)
    browser.open(path.as_uri())
    return browser


def test_a_browser_opens_it_without_a_complaint_and_loads_nothing_more(opened):
    assert opened.evaluate("document.querySelector('h1').innerText").endswith("there may be more")
    assert opened.complaints == []
    assert opened.evaluate("performance.getEntriesByType('resource').length") == 0
    assert opened.evaluate("window.harmed === undefined")
    assert opened.evaluate("document.body.textContent.includes('<script>window.harmed')")


def test_details_open_with_the_keyboard(opened):
    opened.evaluate("document.querySelector('#findings details').scrollIntoView()")
    focused = "document.activeElement.parentElement.className"
    for _ in range(60):
        opened.press("Tab", 9)
        if opened.evaluate(focused) == "finding":
            break
    assert opened.evaluate(focused) == "finding"
    assert not opened.evaluate("document.activeElement.parentElement.open")
    opened.press("Enter", 13)
    assert opened.evaluate("document.activeElement.parentElement.open")
    assert "Guards" in opened.evaluate("document.activeElement.parentElement.innerText")


@pytest.mark.parametrize(
    ("word", "host"), [("h2", "h2"), (uuid_of("db"), "h1"), ("a-PROJECT", "h1")]
)
def test_searching_shows_what_matches(opened, word, host):
    opened.evaluate("document.getElementById('query').focus()")
    opened.type(word)
    opened.evaluate("new Promise(done => setTimeout(done, 300))")
    shown = (
        "[...document.querySelectorAll('.host:not([hidden]) .name')].map(one => one.textContent)"
    )
    assert host in opened.evaluate(shown)
    assert opened.evaluate("document.getElementById('matches').innerText").endswith(" found")


@pytest.mark.parametrize("word", ["h2", uuid_of("db")])
def test_what_a_search_finds_is_on_the_screen(opened, word):
    opened.look(1280, 500)
    opened.evaluate("document.getElementById('query').focus()")
    opened.type(word)
    opened.evaluate("new Promise(done => setTimeout(done, 300))")
    first = "document.querySelector('details:is(.host, .finding, .reason):not([hidden])')"
    place = opened.evaluate(f"(({{top}}) => [top, innerHeight])({first}.getBoundingClientRect())")
    assert 0 < place[0] < place[1]
    assert opened.evaluate("document.activeElement.id") == "query"


def test_a_search_without_a_match_says_so_and_an_empty_one_shows_all(opened):
    find = "document.getElementById('query').value = '{}'; search(); "
    hidden = "document.querySelectorAll('details[hidden]').length"
    opened.evaluate(find.format("nobody"))
    assert opened.evaluate("document.getElementById('matches').innerText").startswith("Nothing")
    assert opened.evaluate(hidden) > 0
    opened.evaluate(find.format(""))
    assert opened.evaluate(hidden) == 0


def test_it_is_whole_without_a_script(browser, tmp_path):
    path = tmp_path / "page.html"
    path.write_bytes(html_of(page_about(MIXED)))
    browser.scripts(run=False)
    try:
        browser.open(path.as_uri())
        assert not browser.evaluate("document.querySelector('search').checkVisibility()")
        assert uuid_of("db") in browser.evaluate("document.getElementById('findings').textContent")
        # What is below the window is laid out when it comes into sight, by the style sheet alone.
        shown = (
            "[...document.querySelectorAll('.host summary')].every(one => one.checkVisibility())"
        )
        assert browser.evaluate(shown)
        assert "h2" in browser.evaluate("document.getElementById('hosts').textContent")
    finally:
        browser.scripts(run=True)


@pytest.mark.parametrize("width", [320, 768, 1920])
def test_nothing_is_wider_than_the_window(opened, width):
    opened.look(width, 800)
    opened.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert opened.evaluate("document.documentElement.scrollWidth") <= width


SQUARES = """
[...document.querySelectorAll('.host > summary .verdict')].map((one) => {
  const square = one.getBoundingClientRect();
  return [square.left, square.top, square.right, square.bottom];
})
"""


@pytest.mark.parametrize("width", [375, 1280])
def test_the_verdicts_of_a_host_stand_beside_or_below_each_other(browser, tmp_path, width):
    path = tmp_path / "page.html"
    path.write_bytes(html_of(page_about(CLASH)))
    browser.look(width, 1200)
    browser.open(path.as_uri())
    verdicts = browser.evaluate(SQUARES)
    assert len(verdicts) == 3
    for (left, top, right, bottom), (x0, y0, x1, y1) in combinations(verdicts, 2):
        assert right <= x0 or x1 <= left or bottom <= y0 or y1 <= top


def test_before_and_after_are_readable_on_a_narrow_screen(browser, tmp_path):
    path = tmp_path / "page.html"
    path.write_bytes(html_of(page_about(HOLDS_TOO_MUCH)))
    browser.look(375, 800)
    browser.open(path.as_uri())
    browser.evaluate("document.querySelector('.finding').open = true")
    widths = "[...document.querySelectorAll('.finding td')].map(one => one.clientWidth)"
    before, after = browser.evaluate(widths)
    assert min(before, after) >= 100


# Colours that text has, against both grounds; the ratio is that of WCAG.
CONTRASTS = """
(() => {
  const probe = document.body.appendChild(document.createElement("i"));
  const light = (name) => {
    probe.style.color = `var(${name})`;
    const parts = getComputedStyle(probe).color.match(/[0-9.]+/g).slice(0, 3).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const found = {};
  for (const text of ["--ink", "--soft", "--phantom", "--missing", "--undecided", "--link"])
    for (const ground of ["--ground", "--raised"]) {
      const [dim, bright] = [light(text), light(ground)].sort((a, b) => a - b);
      found[text + " on " + ground] = (bright + 0.05) / (dim + 0.05);
    }
  probe.remove();
  return found;
})()
"""


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_contrast_in_both_schemes(opened, dark):
    opened.look(1280, 800, dark=dark)
    ratios = opened.evaluate(CONTRASTS)
    assert {name: ratio for name, ratio in ratios.items() if ratio < 4.5} == {}
    # And it is a dark page when one is asked for.
    shade = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (max(int(part) for part in re.findall(r"\d+", shade)) < 60) is dark


@pytest.mark.parametrize("dark", [False, True])
def test_the_words_in_an_empty_field_have_the_contrast_of_soft_text(opened, dark):
    """A browser's own gray has 3.6 on a dark ground."""
    opened.look(1280, 800, dark=dark)
    colors = opened.evaluate(
        "[getComputedStyle(document.querySelector('#query'), '::placeholder').color,"
        " getComputedStyle(document.querySelector('caption')).color]"
    )
    assert colors[0] == colors[1]


def test_it_prints(opened):
    assert opened.printed().startswith(b"%PDF-")
