# SPDX-License-Identifier: Apache-2.0
"""Every changelog fragment has a name and a text that a release can use."""

import re
import subprocess
import sys
import tomllib

from tests.tree import REPOSITORY

FOLDER = REPOSITORY / "changelog.d"
NOT_FRAGMENTS = {"README.md", "template.md"}
FRAGMENTS = sorted(path for path in FOLDER.iterdir() if path.name not in NOT_FRAGMENTS)
SETTINGS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["towncrier"]
TYPES = "|".join(kind["directory"] for kind in SETTINGS["type"])
NAME = re.compile(rf"[a-z0-9]+(-[a-z0-9]+)*\.({TYPES})\.md")
LINE_LENGTH_MAX = 130


def test_fragments_are_well_formed():
    for path in FRAGMENTS:
        assert NAME.fullmatch(path.name), f"{path.name}: name it WORDS-WITH-DASHES.({TYPES}).md"
        text = path.read_text()
        assert re.match(r"[A-Z0-9`]", text), f"{path.name}: begin with a capital letter or a `name`"
        assert text.rstrip().endswith("."), f"{path.name}: end with a full stop"
        assert "\n\n" not in text, f"{path.name}: write one paragraph"
        assert max(map(len, text.splitlines())) <= LINE_LENGTH_MAX, f"{path.name}: break the lines"


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
