# SPDX-License-Identifier: Apache-2.0
"""The description for package indexes: README.md with names of files in place of relative links.

An index shows the description alone, and a relative link would lead nowhere there. Everything else
about the package is in pyproject.toml.
"""

import re
from pathlib import Path

from setuptools import setup

PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?:)[^)]+\)\n*")
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)([^)#]+)[^)]*\)")


def description() -> str:
    """README.md without pictures; a link to a file becomes its text and the file's name."""
    page = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
    return LINK.sub(_name_the_file, PICTURE.sub("", page))


def _name_the_file(link: re.Match[str]) -> str:
    text, path = link.groups()
    return f"`{path}`" if text == path else f"{text} (`{path}`)"


setup(long_description=description(), long_description_content_type="text/markdown")
