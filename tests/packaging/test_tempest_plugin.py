# SPDX-License-Identifier: Apache-2.0
"""What packaging/tempest-plugin takes for a wrong ledger. Tempest itself runs in `make tempest`."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from trueup_tempest_plugin import ledger
from trueup_tempest_plugin.ledger import AuditFailed, Auditor, Fault

from tests.cli.conftest import nova_conf, small, small_on, template

__all__ = ["nova_conf", "small", "small_on", "template"]
NOTHING: frozenset[Fault] = frozenset()
AN_HOUR = 3600.0
LEAK = "orphaned-allocation"


def coverage(**changed: Any) -> dict[str, Any]:
    return {"source": "nova cell1", "answered": True, "behind": None, "lost_rows": 0} | changed


def finding(defect: str, uuid: str) -> dict[str, Any]:
    subject = {"kind": "consumer", "uuid": uuid}
    return {"defect": defect, "subject": subject, "title": "A leak", "where": "host1"}


def said(*findings: dict[str, Any], unchecked: Any = (), **changed: Any) -> str:
    """What an audit prints."""
    row = coverage(**changed)
    complete = row == coverage() and not unchecked
    document = {"complete": complete, "findings": findings, "unchecked": list(unchecked)}
    return json.dumps(document | {"coverage": [row]})


RIGHT = said()
SILENT = said(answered=False, reason="it is down")
BEHIND = said(behind="its replica lags")
LEFT, OTHER = finding(LEAK, "left"), finding(LEAK, "other")


@pytest.fixture
def auditor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Auditor]:
    monkeypatch.setattr(ledger, "BETWEEN_SECONDS", 0)

    def build(*outputs: str, code: int = 3, settle_seconds: float = AN_HOUR) -> Auditor:
        """Its audits print these, one after the other, and one more would fail."""
        for number, output in enumerate(outputs):
            (tmp_path / f"{number}.out").write_text(output)
        program = tmp_path / "trueup"
        program.write_text(
            f'#!/bin/sh\ncd {tmp_path}\nfirst=$(ls *.out | head -n 1)\ncat "$first" || exit 9\n'
            f'rm "$first"\nexit {code}\n'
        )
        program.chmod(0o755)
        return Auditor(str(program), None, settle_seconds)

    return build


def names(faults: frozenset[Fault]) -> set[str]:
    return {f"{one.what}: {one.subject}" for one in faults}


def test_the_findings_of_trueup_are_faults(small, nova_conf):
    trueup = str(Path(sys.executable).with_name("trueup"))
    auditor = Auditor(trueup, str(nova_conf), settle_seconds=0)
    wrong, _ = auditor.lasting_faults(NOTHING)
    assert f"{LEAK}: consumer {small.consumer(LEAK)}" in names(wrong)
    assert auditor.lasting_faults(wrong) == (NOTHING, wrong)


@pytest.mark.parametrize(
    "outputs",
    [
        [RIGHT],
        # Nothing is known of the ledger while a source is silent, or its replica lags.
        [SILENT, BEHIND, RIGHT],
        [said(LEFT), RIGHT],
        [said(LEFT), said(OTHER)],
        [said(LEFT), SILENT, said(OTHER)],
    ],
)
def test_what_does_not_last_is_no_fault(auditor, outputs):
    assert auditor(*outputs).lasting_faults(NOTHING) == (NOTHING, NOTHING)


@pytest.mark.parametrize(
    ("output", "fault"),
    [
        (said(LEFT), f"{LEAK}: consumer left"),
        (said(unchecked=[{**LEFT, "reason": "unknown host"}]), "could not check: consumer left"),
        (said(lost_rows=2), "could not read: nova cell1"),
    ],
)
def test_what_lasts_is_a_fault(auditor, output, fault):
    wrong, _ = auditor(output, settle_seconds=0).lasting_faults(NOTHING)
    assert names(wrong) == {fault}


def test_a_known_fault_is_no_classs_and_is_known_until_it_ends(auditor):
    known, _ = auditor(said(LEFT), settle_seconds=0).lasting_faults(NOTHING)
    assert auditor(said(LEFT)).lasting_faults(known) == (NOTHING, known)
    # One that comes back is of the class that has just ended.
    assert auditor(RIGHT).lasting_faults(known) == (NOTHING, NOTHING)


@pytest.mark.parametrize(
    ("output", "code", "words"),
    [
        (SILENT, 5, "did not answer: nova cell1: it is down"),
        (BEHIND, 5, "its replica lags"),
        (RIGHT, 2, "ended with 2"),
        ("no answer", 0, "printed no JSON"),
        (said(reason="of a new kind"), 5, "does not say where"),
    ],
)
def test_an_audit_that_judges_nothing_is_no_pass(auditor, output, code, words):
    with pytest.raises(AuditFailed, match=words):
        auditor(output, code=code, settle_seconds=0).lasting_faults(NOTHING)


def test_a_program_that_is_not_there_is_named(tmp_path):
    with pytest.raises(AuditFailed, match=r"\[trueup\] command = .*/trueup"):
        Auditor(str(tmp_path / "trueup"), None, settle_seconds=0).look()
