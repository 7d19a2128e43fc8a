# SPDX-License-Identifier: Apache-2.0
"""Every file of audits/ says what an audit and a plan of its cloud must say."""

import os
from pathlib import Path

import pytest

from tests.scenarios.reading import answer, read_cloud

FILES = sorted((Path(__file__).parent / "audits").glob("*.txt"))
LINE = "----\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_audit_and_plan_are_those_in_the_file(path: Path) -> None:
    """TRUEUP_REWRITE_SCENARIOS=1 writes the answers anew; read what changed before you keep it."""
    blocks = path.read_text().split("\n====\n")
    rewritten = []
    for block in blocks:
        cloud, _, expected = block.partition(LINE)
        found = answer(read_cloud(cloud)) + "\n"
        rewritten.append(cloud + LINE + found)
        if not os.environ.get("TRUEUP_REWRITE_SCENARIOS"):
            assert found.strip() == expected.strip(), f"{path.name}:\n{cloud}"
    if os.environ.get("TRUEUP_REWRITE_SCENARIOS"):
        path.write_text("\n====\n".join(text.rstrip("\n") + "\n" for text in rewritten))
