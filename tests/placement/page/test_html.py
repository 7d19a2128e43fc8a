# SPDX-License-Identifier: Apache-2.0
"""The pages in a real browser: no complaint, no script needed, readable on a phone."""

import pytest

from tests.placement.client import UUID
from tests.placement.page.ledger import HOST, HOSTILE
from tests.servers.browser import Browser, PageFailed
from tests.servers.processes import poll

PATHS = (
    "/", "/capacity", "/search?q=a", f"/provider/{UUID(HOST)}", f"/consumer/{UUID(101)}",
    "/why?query=resources%3DVCPU%3A9",
)  # fmt: skip


@pytest.fixture
def calm(browser: Browser) -> Browser:
    browser.complaints.clear()
    browser.look(1280, 800)
    return browser


def is_shown(browser: Browser, condition: str) -> bool:
    """Whether the page is shown; False during the change of pages."""
    try:
        return browser.evaluate(condition)
    except PageFailed:
        return False


@pytest.mark.parametrize("path", PATHS)
def test_a_browser_opens_it_without_a_complaint(calm, site_url, path):
    calm.open(site_url + path)
    assert calm.complaints == []
    assert calm.evaluate("window.harmed === undefined")
    # Only its own style is loaded, and it is in effect.
    names = calm.evaluate("performance.getEntriesByType('resource').map((one) => one.name)")
    assert names == [f"{site_url}/style.css"]
    assert calm.evaluate("getComputedStyle(document.querySelector('.skip')).position") == "absolute"
    assert calm.evaluate("document.querySelectorAll('h1').length") == 1
    assert calm.evaluate("[...document.querySelectorAll('th')].every((one) => one.scope)")
    assert calm.evaluate(
        "[...document.querySelectorAll('input,textarea')].every((one) => one.labels.length)"
    )


@pytest.mark.parametrize("path", PATHS)
def test_it_fits_a_phone(calm, site_url, path):
    calm.look(390, 844)
    calm.open(site_url + path)
    assert calm.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_name_is_text(calm, site_url):
    calm.open(f"{site_url}/provider/{UUID(HOST)}")
    assert calm.evaluate("document.querySelector('h1').innerText") == HOSTILE


def test_a_bar_is_as_long_as_its_usage(calm, site_url):
    calm.open(f"{site_url}/provider/{UUID(HOST)}")
    share = (
        "document.querySelector('.usage .part').getBoundingClientRect().width"
        " / document.querySelector('.usage').getBoundingClientRect().width"
    )
    assert calm.evaluate(share) == pytest.approx(0.37, abs=0.005)


def test_it_is_searched_with_the_keyboard_and_without_a_script(calm, site_url):
    calm.scripts(run=False)
    try:
        calm.open(site_url)
        calm.evaluate("document.getElementById('q').focus()")
        calm.type(UUID(101))
        calm.press("Enter", 13)
        link = f"document.querySelector('main a[href=\"/consumer/{UUID(101)}\"]') !== null"
        assert poll(lambda: is_shown(calm, link), 60)
        # Its event has come too, or the next page would be taken for loaded.
        assert poll(lambda: is_shown(calm, "performance.timing.loadEventEnd > 0"), 60)
    finally:
        calm.scripts(run=True)


def test_dark_is_dark(calm, site_url):
    ground = "getComputedStyle(document.body).backgroundColor"
    calm.open(site_url)
    light = calm.evaluate(ground)
    calm.look(1280, 800, dark=True)
    assert calm.evaluate(ground) != light
