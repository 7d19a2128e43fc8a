# SPDX-License-Identifier: Apache-2.0
"""Runs `trueup` as its user would, in this process, and keeps what it printed."""

import contextlib
import io
import json
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from trueup.cli.main import main
from trueup.reconcile.runs import apply

ROOT = Path(__file__).parents[2]


# The rows of the table of an audit, in place of its document.
AUDIT_COLUMNS = (
    "Verdict", "Severity", "Defect", "Kind", "Subject", "Where", "Age", "Effect", "Evidence",
)  # fmt: skip
ROWS = ("-f", "json", *(word for name in AUDIT_COLUMNS for word in ("-c", name)))


@dataclass(frozen=True)
class Ran:
    """One run: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


def trueup(*words: object) -> Ran:
    """Run one command line."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
    ran = Ran(code, out.getvalue(), err.getvalue())
    assert "Reason(name=" not in ran.out + ran.err, "a reason is printed as a sentence"
    return ran


def undo_for_good(*words: object) -> None:
    """Undo a run that was killed. If a step of it may still be written, undo it again later."""
    ran = trueup("undo", *words)
    if ran.code == 4:
        assert "may still be" in ran.err, ran.err
        with mock.patch.object(apply, "LATE", timedelta()):
            ran = trueup("undo", *words)
    assert ran.code == 0, ran.out + ran.err
