# SPDX-License-Identifier: Apache-2.0
"""The pictures of README.md."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.running import ROOT

IMAGES = ROOT / "docs" / "images"
SVG = "{http://www.w3.org/2000/svg}"
# Hours before the cloud of the demo was made.
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")


@pytest.fixture(scope="module")
def new(tmp_path_factory) -> str:
    """The recording as tools/pictures.py makes it now."""
    file = tmp_path_factory.mktemp("pictures") / "demo.svg"
    command = [sys.executable, ROOT / "tools/pictures.py", "demo", file]
    subprocess.run(command, check=True, capture_output=True)
    return file.read_text()


def test_the_recording_is_what_the_demo_prints_today(new):
    kept = (IMAGES / "demo.svg").read_text()
    assert TIME.sub("TIME", kept) == TIME.sub("TIME", new), "run: make pictures"


def test_it_has_the_whole_story_and_loads_nothing(new):
    drawing = ElementTree.fromstring(new)
    pages = drawing.findall(f"{SVG}g")
    assert 5 <= len(pages) <= 9
    text = "\n".join("".join(line.itertext()) for line in drawing.iter(f"{SVG}text"))
    for command in ("make demo", "trueup audit", "trueup plan", "trueup apply", "trueup undo"):
        assert command in text
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)|<script|<image|@import", new)
    assert all(f"#p{number} {{ animation" in new for number in range(1, len(pages) + 1))


@pytest.mark.parametrize("path", sorted(IMAGES.iterdir()), ids=lambda path: path.name)
def test_every_picture_is_light_and_on_a_page(path):
    assert path.stat().st_size < 300_000
    pages = [ROOT / "README.md", *Path(ROOT / "docs").rglob("*.md")]
    assert any(f"images/{path.name})" in page.read_text() for page in pages)
