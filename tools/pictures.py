# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of README.md: a recording of `make demo`, and a screenshot of a report.

    python tools/pictures.py demo [FILE]      (default: docs/images/demo.svg)
    python tools/pictures.py report [FILE]    (default: docs/images/report.png; needs chromium)

The recording is one SVG file that loads nothing: the pages of the demo's output, which a style
sheet shows one after the other. Whoever has asked for less motion sees the last page. A test
compares its text with what the demo prints.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from pathlib import Path

from rich.console import Console
from rich.text import Text

from trueup import lab

REPOSITORY = Path(__file__).parents[1]
IMAGES = REPOSITORY / "docs" / "images"
TRUEUP = Path(sys.executable).with_name("trueup")

COLUMNS, ROWS = 112, 20
# Pixels. A character of these typefaces is 0.6 of their size (13) wide, or narrower.
_CHARACTER, _LINE, _BAR, _MARGIN = 7.85, 19, 34, 16
# How long a page is shown: a moment, and longer for each of its lines.
_SECONDS, _SECONDS_FOR_A_LINE = 1.5, 0.25
_CHAPTER = re.compile(r"\d\. |What to type next")
_ITEM = re.compile(r" {3}\d+ x ")
_STYLE = """
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace;
  fill: #d7dde4; white-space: pre }
.bold { font-weight: bold; fill: #ffffff }
.dim { fill: #9aa5b1 }
.page { visibility: hidden }
.page:last-of-type { visibility: visible }
"""

Page = Sequence[Text]


def demo() -> str:
    """What `make demo` prints on a terminal of this width, with its bold text marked."""
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1", "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    ran = subprocess.run(
        [TRUEUP, "demo"], env=environment, capture_output=True, text=True, check=True
    )
    return f"$ make demo\n{ran.stdout}"


def pages(printed: str) -> list[Page]:
    """The lines of a terminal of this width, page by page; a chapter begins a page of its own."""
    console = Console(width=COLUMNS)
    lines = [
        part
        for line in Text.from_ansi(printed).split("\n", allow_blank=True)
        for part in (line.wrap(console, COLUMNS) or [line])
    ]
    found: list[list[Text]] = [[]]
    for line in lines:
        if _CHAPTER.match(line.plain) and any(one.plain.strip() for one in found[-1][1:]):
            found.append([])
        elif len(found[-1]) == ROWS:
            found.append(_cut(found[-1]))
        if found[-1] or line.plain.strip():
            found[-1].append(line)
    return [page for page in map(_without_last_blanks, found) if page]


def _cut(page: list[Text]) -> list[Text]:
    """Take what has begun, but does not end on this page: it is shown whole on the next one."""
    starts = [row for row, line in enumerate(page) if _ITEM.match(line.plain)]
    begun = page[starts[-1] :] if starts else []
    del page[len(page) - len(begun) :]
    return begun


def _without_last_blanks(page: list[Text]) -> list[Text]:
    while page and not page[-1].plain.strip():
        page.pop()
    return page


def recording(shown: Sequence[Page]) -> str:
    """The pages as one SVG file."""
    width = round(2 * _MARGIN + COLUMNS * _CHARACTER)
    height = _BAR + 2 * _MARGIN + ROWS * _LINE
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        "<title>make demo: drift in a small cloud is found, planned, repaired</title>",
        f"<style>{_STYLE}{_timing(shown)}</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#14181d"/>',
        f'<path d="M0 {_BAR}V8a8 8 0 0 1 8-8H{width - 8}a8 8 0 0 1 8 8V{_BAR}z" fill="#262c34"/>',
        f'<text class="dim" x="{_MARGIN}" y="22">make demo</text>',
    ]
    for number, page in enumerate(shown, start=1):
        drawn.append(f'<g class="page" id="p{number}">')
        drawn.append(
            f'<text class="dim" x="{width - _MARGIN}" y="22" text-anchor="end">'
            f"{number} of {len(shown)}</text>"
        )
        drawn += (_drawn(line, _BAR + _MARGIN + _LINE * row) for row, line in enumerate(page, 1))
        drawn.append("</g>")
    return "\n".join([*drawn, "</svg>"]) + "\n"


def _drawn(line: Text, y: int) -> str:
    """A line; the text that the terminal shows bold or dim is marked."""
    cuts = sorted({0, len(line), *(edge for span in line.spans for edge in (span.start, span.end))})
    parts = []
    for start, end in pairwise(cuts):
        words = escape(line.plain[start:end], quote=False)
        kinds = {str(span.style) for span in line.spans if span.start <= start and end <= span.end}
        kind = next((one for one in ("bold", "dim") if one in kinds), "")
        parts.append(f'<tspan class="{kind}">{words}</tspan>' if kind else words)
    return f'<text x="{_MARGIN}" y="{y}" xml:space="preserve">{"".join(parts)}</text>'


def _timing(shown: Sequence[Page]) -> str:
    """When each page is visible, in per cent of a round."""
    seconds = [_SECONDS + _SECONDS_FOR_A_LINE * len(page) for page in shown]
    whole = sum(seconds)
    rules = []
    for number, length in enumerate(seconds):
        start = 100 * sum(seconds[:number]) / whole
        end = start + 100 * length / whole
        rules.append(
            f"@keyframes p{number + 1} {{ 0% {{ visibility: hidden }} "
            f"{start:.2f}% {{ visibility: visible }} {end:.2f}% {{ visibility: hidden }} }}"
        )
        # The first frame of a page that begins at once, and the last of one that ends the round.
        rules[-1] = rules[-1].replace("0% { visibility: hidden } 0.00%", "0%")
        rules[-1] = rules[-1].replace(
            "100.00% { visibility: hidden }", "100% { visibility: visible }"
        )
        name = f"p{number + 1}"
        rules.append(f"#{name} {{ animation: {name} {whole:.1f}s step-end infinite }}")
    rules_of_motion = "\n  ".join(rules)
    return f"@media (prefers-reduced-motion: no-preference) {{\n  {rules_of_motion}\n}}\n"


def report(file: Path) -> None:
    """A screenshot of the beginning of a report about the demo's cloud, made by chromium."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("chromium was not found: install the package chromium")
    with tempfile.TemporaryDirectory(prefix="trueup-pictures-") as folder:
        page = Path(folder) / "report.html"
        with lab.small_cloud(Path(folder) / "cloud") as small:
            small.plant()
            words = ["report", "--html", page, "--nova-conf", small.nova_conf]
            words += ["--state-dir", Path(folder) / "state"]
            # 3: there are findings.
            ran = subprocess.run([TRUEUP, *words], capture_output=True, text=True, check=False)
            if ran.returncode != 3:
                sys.exit(ran.stderr)
        chromium = [browser, "--headless", "--no-sandbox", "--hide-scrollbars", "--disable-gpu"]
        chromium += ["--window-size=1080,1000", f"--user-data-dir={folder}/chromium"]
        subprocess.run([*chromium, f"--screenshot={file}", page.as_uri()], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("picture", choices=("demo", "report"))
    parser.add_argument("file", type=Path, nargs="?")
    arguments = parser.parse_args()
    if arguments.picture == "demo":
        (arguments.file or IMAGES / "demo.svg").write_text(recording(pages(demo())))
    else:
        report((arguments.file or IMAGES / "report.png").absolute())


if __name__ == "__main__":
    main()
