# SPDX-License-Identifier: Apache-2.0
"""Writes the schemas of plans, journals and policies in docs/, from the types that read them.

    python tools/document_schemas.py

A test compares the files with what this makes.
"""

import json
from pathlib import Path
from typing import Any

import msgspec

from trueup.reconcile.plan import Plan
from trueup.reconcile.plan.policy import Policy
from trueup.reconcile.runs.journal import Entry

DOCS = Path(__file__).parents[1] / "docs"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
DIGEST = {"type": "string", "pattern": "^[0-9a-f]+$"}


def _schema(title: str, member: str, content: Any, digest: str) -> str:
    [found], parts = msgspec.json.schema_components([content], ref_template="#/$defs/{name}")
    document = {
        "$schema": DIALECT,
        "title": title,
        "type": "object",
        "required": ["digest", member],
        "properties": {"digest": DIGEST | {"description": digest}, member: found},
        "$defs": parts,
    }
    return _text(document)


def _text(document: Any) -> str:
    return json.dumps(_in_lines(document), indent=2, ensure_ascii=False) + "\n"


def _in_lines(part: Any) -> Any:
    """Descriptions without the line breaks of the source."""
    if isinstance(part, list):
        return [_in_lines(one) for one in part]
    if not isinstance(part, dict):
        return part
    words = part.get("description")
    said = {"description": " ".join(words.split())} if isinstance(words, str) else {}
    return {name: _in_lines(one) for name, one in part.items()} | said


def schemas() -> dict[Path, str]:
    """What each of the files should be."""
    return {
        DOCS / "plan.schema.json": _schema(
            "A plan, as trueup plan --out writes it", "plan", Plan, "The SHA-256 of the plan"
        ),
        DOCS / "journal.schema.json": _schema(
            "A line of a journal", "entry", Entry, "A digest of all entries up to this one"
        ),
        DOCS / "policy.schema.json": _text(
            {"$schema": DIALECT, "title": "A policy"} | msgspec.json.schema(Policy)
        ),
    }


if __name__ == "__main__":
    for path, text in schemas().items():
        path.write_text(text, encoding="utf-8")
