# SPDX-License-Identifier: Apache-2.0
"""Writes what names every defect: the index in docs/README.md, and docs/audit.schema.json.

    python tools/defect_lists.py

The schema also has the names of all reasons. A test compares the files with what this makes.
"""

import json
from pathlib import Path

from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.report.reasons import SENTENCES

DOCS = Path(__file__).parents[1] / "docs"
HEAD = "| defect | in one sentence |\n| --- | --- |\n"


def lists() -> dict[Path, str]:
    """What each of the two files should be."""
    index, schema = DOCS / "README.md", DOCS / "audit.schema.json"
    rows = (f"| [{one.NAME}](defects/{one.NAME}.md) | {one.TITLE}. |\n" for one in DEFECTS)
    before, rest = index.read_text().split(HEAD, 1)
    _, after = rest.split("\n\n", 1)
    document = json.loads(schema.read_text())
    document["$defs"]["defect"]["enum"] = [one.NAME for one in DEFECTS]
    document["$defs"]["why"]["properties"]["name"]["enum"] = sorted(SENTENCES)
    return {
        index: f"{before}{HEAD}{''.join(rows)}\n{after}",
        schema: json.dumps(document, indent=2, ensure_ascii=False) + "\n",
    }


if __name__ == "__main__":
    for path, text in lists().items():
        path.write_text(text, encoding="utf-8")
