# SPDX-License-Identifier: Apache-2.0
"""A page as one HTML file that needs nothing else: no network, and no script to be read.

Everything that comes from a cloud is escaped by jinja2. The page's own security policy lets no
script run but the one for searching, and lets nothing be loaded.
"""

import base64
import hashlib
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from trueup.reconcile.page.page import Page

_PACKAGE = "trueup.reconcile.page"


def html_of(page: Page) -> bytes:
    """The page as HTML in UTF-8."""
    script, style = _part("page.js"), _part("page.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text = _environment().get_template("page.html").render(
        page=page, style=Markup(style), script=Markup(script), digest=digest
    )  # fmt: skip
    # A lone surrogate, as a broken name may have, is no character of UTF-8.
    return text.encode("utf-8", "replace")


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader(_PACKAGE, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"moment": _moment, "number": _number, "residents": _residents}
    return found


def _part(name: str) -> str:
    return (files(_PACKAGE) / "templates" / name).read_text(encoding="utf-8")


def _moment(time: datetime | None) -> str:
    """`2026-11-21 12:00:00`, in UTC as all times of Nova."""
    return time.isoformat(sep=" ", timespec="seconds") if time else ""


def _number(amount: int) -> str:
    """With a narrow space between thousands, so that long numbers can be read."""
    return f"{amount:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def _residents(rows: Any) -> str:
    """One line for each.

    PERF: text in one element; an element for each of 200,000 instances takes a browser seconds.
    """
    return "\n".join(
        "  ".join(filter(None, (row.uuid, row.name, row.project, row.note and f"({row.note})")))
        for row in rows
    )
