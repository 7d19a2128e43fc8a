# SPDX-License-Identifier: Apache-2.0
"""A page as one HTML file that needs nothing else: no network, and no script to be read.

Everything that comes from a cloud is escaped by the template. The page's own security policy lets
no script run but the one for searching, and lets nothing be loaded.
"""

import base64
import hashlib
from typing import Any

from trueup.reconcile.page.page import Page
from trueup.web.templates import Templates, style


def html_of(page: Page) -> bytes:
    """The page as HTML in UTF-8."""
    script = _TEMPLATES.part("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    whole = style() + _TEMPLATES.part("page.css")
    return _TEMPLATES.render("page.html", page=page, style=whole, script=script, digest=digest)


def _residents(rows: Any) -> str:
    """One line for each resident.

    PERF: text in one element; an element for each of 200,000 instances takes a browser seconds.
    """
    return "\n".join(
        "  ".join(filter(None, (row.uuid, row.name, row.project, row.note and f"({row.note})")))
        for row in rows
    )


_TEMPLATES = Templates("trueup.reconcile.page", residents=_residents)
