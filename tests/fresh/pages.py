# SPDX-License-Identifier: Apache-2.0
"""The commands of a page, word for word."""

import os
import re

from tests.tree import REPOSITORY

# What stands for `make test`: it is the same suite, and takes much longer.
SUITE = os.environ.get("TRUEUP_FRESH_SUITE") or "quick"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands(page: str, heading: str) -> list[str]:
    """The lines of the shell blocks below a heading."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [line for block in BLOCK.findall(section) for line in block.splitlines()]
