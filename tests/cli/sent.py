# SPDX-License-Identifier: Apache-2.0
"""What a sink got of a program, each message as docs/outcome.schema.json describes it."""

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from tests.reconcile.report.test_audit_document import closed
from tests.tree import REPOSITORY

SCHEMA = json.loads((REPOSITORY / "docs" / "outcome.schema.json").read_text())
STRICT = Draft202012Validator(closed(SCHEMA), format_checker=Draft202012Validator.FORMAT_CHECKER)


def messages(path: Path) -> list[Any]:
    """The messages in a file of JSON lines."""
    found = [json.loads(line) for line in path.read_text().splitlines()]
    for one in found:
        STRICT.validate(one.get("attachments", [{"content": one}])[0]["content"])
    return found
