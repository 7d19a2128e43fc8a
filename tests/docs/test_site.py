# SPDX-License-Identifier: Apache-2.0
"""`make site` checks every link and anchor, and its pages load nothing from elsewhere."""

import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from sysconfig import get_path

import pytest

from tests.tree import REPOSITORY

STYLESHEET_ELSEWHERE = re.compile(r"url\(\s*[\"']?(?:https?:)?//|@import")


class Loaded(HTMLParser):
    """What a browser fetches by itself to show a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.urls: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.urls += filter(None, [given.get("src"), given.get("href") if tag == "link" else None])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = ["tools/site", get_path("scripts"), str(folder)]
    built = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


def test_the_index_of_versions_leads_to_the_pages_of_this_one(site):
    [page] = re.findall(r'href="([^"]+)"', (site / "index.html").read_text())
    text = (site / page).read_text()
    assert "orphaned-allocation" in text
    assert 'href="symptoms.html"' in text


def test_a_browser_asks_no_other_server(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 80
    for page in pages:
        loaded = Loaded(page.read_text()).urls
        assert not [url for url in loaded if re.match(r"(?:https?:)?//", url)], page
    for sheet in site.rglob("*.css"):
        assert not STYLESHEET_ELSEWHERE.search(sheet.read_text()), sheet
