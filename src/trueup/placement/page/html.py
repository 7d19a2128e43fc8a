# SPDX-License-Identifier: Apache-2.0
"""The pages as HTML. The templates escape all values, and no page has a script."""

from typing import Any
from urllib.parse import quote

from trueup.placement.why import text_of, verdict
from trueup.web import templates
from trueup.web.templates import Templates


def page(template: str, **values: Any) -> bytes:
    """A page in UTF-8."""
    return _TEMPLATES.render(template, **values)


def style() -> bytes:
    """The style sheet of all pages."""
    return (templates.style() + _TEMPLATES.part("page.css")).encode()


def _segment(text: str) -> str:
    """Text as one segment of the path of a URL."""
    return quote(text, safe="")


_TEMPLATES = Templates("trueup.placement.page", segment=_segment, text_of=text_of, verdict=verdict)
