# SPDX-License-Identifier: Apache-2.0
"""Templates of pages. All values are escaped."""

from collections.abc import Callable
from datetime import datetime
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape


class Templates:
    """The folder `templates` of a package.

    The filter `moment` writes a time in UTC as `2026-11-21 12:00:00`, `number` puts a narrow space
    between thousands, and `marked` shows text between backticks as code. `filters` adds more.
    """

    def __init__(self, package: str, **filters: Callable[..., str]) -> None:
        self._folder = files(package) / "templates"
        self._environment = Environment(
            loader=PackageLoader(package, "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters |= {
            "moment": _moment,
            "number": _number,
            "marked": _marked,
            **filters,
        }

    def render(self, template: str, **values: Any) -> bytes:
        """A template as UTF-8."""
        text = self._environment.get_template(template).render(**values)
        # UTF-8 cannot encode a lone surrogate, which a broken name may have.
        return text.encode("utf-8", "replace")

    def part(self, name: str) -> Markup:
        """A style sheet or a script, not escaped."""
        return Markup((self._folder / name).read_text(encoding="utf-8"))


def style() -> Markup:
    """The style sheet that all pages share."""
    return Markup((files(__package__) / "style.css").read_text(encoding="utf-8"))


def _moment(time: datetime | None) -> str:
    return time.isoformat(sep=" ", timespec="seconds") if time else ""


def _number(amount: int) -> str:
    return f"{amount:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def _marked(text: str) -> Markup:
    plain, *rest = text.split("`")
    marked = escape(plain)
    for number, part in enumerate(rest):
        marked += escape(part) if number % 2 else Markup("<code>{}</code>").format(part)
    return marked
