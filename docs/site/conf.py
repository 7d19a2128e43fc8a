# SPDX-License-Identifier: Apache-2.0
"""The site of the documentation, made by Sphinx: `make site`.

Sphinx, because OpenStack itself keeps it alive, it reads the Markdown that a checkout shows, and it
checks every link and anchor. A page keeps its path, so a link that works in a checkout works on the
site. The order of the pages is that of docs/README.md. A reader's browser asks no other server.
"""

import re
import tomllib
from pathlib import Path

from sphinx.application import Sphinx

REPOSITORY = Path(__file__).parents[2]
INDEX = "docs/README"

project = "Trueup"
release = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
project_copyright = "The Trueup developers"
extensions = ["myst_parser", "sphinx_copybutton"]
root_doc = INDEX
include_patterns = ["*.md", "docs/**", "bench/*.md", "changelog.d/README.md"]
exclude_patterns = ["docs/site"]
templates_path = ["."]
html_theme = "furo"
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "versions.html",
        "sidebar/scroll-end.html",
    ]
}
html_title = f"Trueup {release}"
html_show_sphinx = False
html_show_sourcelink = False
# All headings can be linked.
myst_heading_anchors = 4
# There is no highlighting of `cron`; pages outside of docs/ need not be in the navigation.
suppress_warnings = ["misc.highlighting_failure", "toc.not_included"]
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True

_SECTION = re.compile(r"^## ", re.MULTILINE)
_LINK = re.compile(r"\]\(([\w./-]+)\.md\)")


def setup(app: Sphinx) -> None:
    app.connect("source-read", _add_navigation)


def _add_navigation(_: Sphinx, page: str, source: list[str]) -> None:
    """The index has a table of pages in each section: the same again, as a tree for Sphinx."""
    if page != INDEX:
        return
    for section in _SECTION.split(source[0])[1:]:
        title, _, text = section.partition("\n")
        pages = "\n".join(dict.fromkeys(_LINK.findall(text)))
        source[0] += f"\n```{{toctree}}\n:caption: {title}\n:hidden:\n\n{pages}\n```\n"
