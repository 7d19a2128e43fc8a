# SPDX-License-Identifier: Apache-2.0
"""Every changelog fragment has a name and a text that a release can use."""

import re
import subprocess
import sys
import tomllib

import pytest

from tests.tree import REPOSITORY

FOLDER = REPOSITORY / "changelog.d"
NOT_FRAGMENTS = {"README.md", "template.md"}
FRAGMENTS = sorted(path for path in FOLDER.iterdir() if path.name not in NOT_FRAGMENTS)
SETTINGS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["towncrier"]
TYPES = "|".join(kind["directory"] for kind in SETTINGS["type"])
NAME = re.compile(rf"[a-z0-9]+(-[a-z0-9]+)*\.({TYPES})\.md")
LINE_LENGTH_MAX = 130


@pytest.mark.parametrize("path", FRAGMENTS, ids=lambda path: path.name)
def test_a_fragment_is_well_formed(path):
    assert NAME.fullmatch(path.name), f"name it WORDS-WITH-DASHES.({TYPES}).md"
    text = path.read_text()
    assert re.match(r"[A-Z0-9`]", text), "begin with a capital letter or a `name`"
    assert text.rstrip().endswith("."), "end with a full stop"
    assert "\n\n" not in text, "write one paragraph"
    assert max(map(len, text.splitlines())) <= LINE_LENGTH_MAX, "break the lines"


def test_a_release_would_contain_every_fragment():
    ran = subprocess.run(
        [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "1.2.3"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    printed = " ".join(ran.stdout.split())
    assert "## 1.2.3" in printed
    for path in FRAGMENTS:
        assert " ".join(path.read_text().split()) in printed, path.name
