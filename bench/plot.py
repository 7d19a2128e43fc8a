# SPDX-License-Identifier: Apache-2.0
"""Draw the figures of a run as SVG: the median time of each operation, for both services.

    python -m bench.plot bench/figures.json bench/figures.svg

The scale is logarithmic. The drawing has no background, and is readable on a light and a dark page.
"""

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

_WIDTH, _ROW, _TOP, _BOTTOM = 760, 24, 56, 12
# Horizontal positions: the end of the names, and the beginning and end of the scale.
_NAMES, _LEFT, _RIGHT = 190, 205, 665
_STYLE = """
text { font: 12px sans-serif; fill: #57606a }
.strong { font-weight: bold; fill: #24292f }
.grid { stroke: #8c959f; stroke-opacity: .35 }
.span { stroke: #8c959f; stroke-width: 2 }
.upstream { fill: #8c959f }
.trueup { fill: #0969da }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1 }
  .strong { fill: #f0f6fc }
  .trueup { fill: #4493f8 }
}
"""

Cell = Mapping[str, Any]


def draw(cells: Sequence[Cell]) -> str:
    """SVG of the cells of a figures file, one row each; operations that failed are left out."""
    shown = [cell for cell in cells if cell["p50_ratio"]]
    times = [one["p50_ms"] for cell in shown for one in cell["services"].values()]
    first, last = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    height = _TOP + _ROW * len(shown) + _BOTTOM

    def across(milliseconds: float) -> float:
        share = (math.log10(milliseconds) - first) / (last - first)
        return round(_LEFT + share * (_RIGHT - _LEFT), 1)

    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        "<title>Median time of each operation, upstream and Trueup</title>",
        f"<style>{_STYLE}</style>",
        *_legend(),
    ]
    for power in range(first, last + 1):
        x = across(10**power)
        drawn.append(f'<line class="grid" x1="{x}" y1="{_TOP - 8}" x2="{x}" y2="{height - 6}"/>')
        drawn.append(_text(x, _TOP - 14, f"{10**power:g} ms", "middle"))
    for number, cell in enumerate(shown):
        drawn += _row(cell, across, _TOP + _ROW * number + _ROW / 2)
    return "\n".join([*drawn, "</svg>"]) + "\n"


def _legend() -> list[str]:
    return [
        f'<circle class="trueup" cx="{_LEFT}" cy="14" r="5"/>',
        _text(_LEFT + 10, 18, "Trueup"),
        f'<circle class="upstream" cx="{_LEFT + 80}" cy="14" r="5"/>',
        _text(_LEFT + 90, 18, "upstream"),
        _text(_WIDTH - 10, 18, "upstream's processor time ÷ Trueup's", "end"),
    ]


def _row(cell: Cell, across: Any, y: float) -> list[str]:
    upstream, trueup = (across(one["p50_ms"]) for one in cell["services"].values())
    name = cell["operation"].replace("_", " ")
    ratio = cell["processor_ratio"]
    return [
        _text(_NAMES, y + 4, name, "end"),
        f'<line class="span" x1="{trueup}" y1="{y:g}" x2="{upstream}" y2="{y:g}"/>',
        f'<circle class="upstream" cx="{upstream}" cy="{y:g}" r="5"/>',
        f'<circle class="trueup" cx="{trueup}" cy="{y:g}" r="5"/>',
        _text(_WIDTH - 10, y + 4, f"{ratio:.3g} times", "end", "strong"),
    ]


def _text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    shown = f' class="{kind}"' if kind else ""
    return f'<text{shown} x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.plot", description=__doc__)
    parser.add_argument("figures", type=Path, help="the file that 'python -m bench --json' wrote")
    parser.add_argument("plot", type=Path, help="the SVG file to write")
    options = parser.parse_args(arguments)
    options.plot.write_text(draw(json.loads(options.figures.read_text())["cells"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
