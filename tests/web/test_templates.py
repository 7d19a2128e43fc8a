# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator
from datetime import datetime

import pytest

from trueup.web.templates import Templates, style

TEXT = (
    "<b>{{ text }}</b> {{ amount | number }} {{ time | moment }}{{ none | moment }} {{ 1 | twice }}"
    "\n{{ text | marked }}"
)


@pytest.fixture(scope="module")
def templates(tmp_path_factory) -> Iterator[Templates]:
    """Those of a package with one template: Python imports a package once for all tests."""
    path = tmp_path_factory.mktemp("package")
    folder = path / "paged" / "templates"
    folder.mkdir(parents=True)
    (path / "paged" / "__init__.py").touch()
    (folder / "page.html").write_text(TEXT)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(path)
        yield Templates("paged", twice=lambda one: f"{one}{one}")


def rendered(templates: Templates, text: str) -> str:
    time = datetime(2026, 11, 22, 12, 0, 1)
    page = templates.render("page.html", text=text, amount=1234567, time=time, none=None)
    return page.decode()


def test_values_in_a_template_are_escaped(templates):
    assert rendered(templates, "<script>").startswith("<b>&lt;script&gt;</b>")


def test_a_name_that_is_not_unicode_still_makes_a_page(templates):
    assert rendered(templates, "web\ud800").startswith("<b>web?</b>")


def test_text_between_backticks_is_code_and_escaped(templates):
    marked = rendered(templates, "a < b: run `trueup <x>`, or `y`; an odd ` too").splitlines()[1]
    assert marked.startswith(
        "a &lt; b: run <code>trueup &lt;x&gt;</code>, or <code>y</code>; an odd"
    )


def test_numbers_and_times_are_for_people(templates):
    assert rendered(templates, "").strip().endswith("1\u202f234\u202f567 2026-11-22 12:00:01 11")


def test_a_part_is_not_escaped(templates):
    assert templates.part("page.html") == TEXT


def test_the_style_has_both_schemes_and_loads_nothing():
    assert "prefers-color-scheme: dark" in style()
    assert "url(" not in style()
