# SPDX-License-Identifier: Apache-2.0
"""Writes what names defects: the index in docs/README.md, docs/audit.schema.json, and the proofs.

    python tools/defect_lists.py

The schema also has the names of all reasons. A test compares the files with what this makes.
"""

import json
import textwrap
from pathlib import Path

from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.plan.automatic import PROOFS
from trueup.reconcile.report.reasons import SENTENCES

DOCS = Path(__file__).parents[1] / "docs"
PROOF_HEAD = "The defects, and the proof of each:\n\n"
HEAD = "What an audit finds:\n\n"


def lists() -> dict[Path, str]:
    """What each of the files should be."""
    index, schema = DOCS / "README.md", DOCS / "audit.schema.json"
    rows = (_item(one.NAME, one.TITLE) for one in DEFECTS)
    before, rest = index.read_text().split(HEAD, 1)
    _, after = rest.split("\n\n", 1)
    document = json.loads(schema.read_text())
    document["$defs"]["defect"]["enum"] = [one.NAME for one in DEFECTS]
    document["$defs"]["why"]["properties"]["name"]["enum"] = sorted(SENTENCES)
    repairs = DOCS / "automatic-repair.md"
    proofs = (_item(name, proof) for name, proof in PROOFS.items())
    start, remainder = repairs.read_text().split(PROOF_HEAD, 1)
    _, end = remainder.split("\n\n", 1)
    return {
        repairs: f"{start}{PROOF_HEAD}{''.join(proofs)}\n{end}",
        index: f"{before}{HEAD}{''.join(rows)}\n{after}",
        schema: json.dumps(document, indent=2, ensure_ascii=False) + "\n",
    }


def _item(defect: str, sentence: str) -> str:
    text = f"- [{defect}](defects/{defect}.md): {sentence}."
    return textwrap.fill(text, 120, subsequent_indent="  ", break_on_hyphens=False) + "\n"


if __name__ == "__main__":
    for path, text in lists().items():
        path.write_text(text, encoding="utf-8")
