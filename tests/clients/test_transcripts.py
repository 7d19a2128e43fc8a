# SPDX-License-Identifier: Apache-2.0
"""What the seeds' commands print at our service, line by line, and at upstream's the same.

TRUEUP_REWRITE_TRANSCRIPTS=1 writes down what upstream's service makes them print.
"""

import difflib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.transcript import Entry, lines_of, play, read

TRANSCRIPTS = Path(__file__).parent / "transcripts"
# A folder is named after the recorded cloud on which its files play.
FILES = sorted(TRANSCRIPTS.glob("*/*.txt"))


@pytest.mark.parametrize("implementation", ["trueup", "upstream"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_commands_print_what_is_written(
    placement_of: Callable[[str, str], str],
    operator: Callable[[str], dict[str, str]],
    path: Path,
    implementation: str,
) -> None:
    url = placement_of(path.parent.name, implementation)
    expected = read(path)
    found = play(expected, operator(url))
    if os.environ.get("TRUEUP_REWRITE_TRANSCRIPTS") and implementation == "upstream":
        path.write_text("".join(map(str, found)))
    assert not differences(expected, found)


def differences(expected: list[Entry], found: list[Entry]) -> str:
    """Line by line, whatever their length; empty without any."""
    before, after = lines_of(expected), lines_of(found)
    return "\n".join(difflib.unified_diff(before, after, "written", "printed", lineterm=""))
