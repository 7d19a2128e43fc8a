# SPDX-License-Identifier: Apache-2.0
"""The document of an audit is what docs/audit.schema.json says, and nothing more."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.reconcile.planning import BROKEN
from tests.reconcile.report.showing import MIXED, WHOLE, said, shown_of
from tests.scenarios.drafting import OWNER, uuid_of
from tests.tree import REPOSITORY
from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.report.audit_document import audit_document
from trueup.reconcile.report.audit_view import AuditView
from trueup.reconcile.verdicts import Acknowledgement, Severity

SCHEMA = json.loads((REPOSITORY / "docs" / "audit.schema.json").read_text())
EVERYTHING = AuditView(everything=True)
OLD = f"orphaned-allocation:{uuid_of('old')}"


def document(
    text: str, view: AuditView = WHOLE, *acknowledgements: Acknowledgement
) -> dict[str, Any]:
    """What a program reads of it."""
    made = audit_document(*shown_of(text, view, *acknowledgements), "1.2.3")
    return json.loads(json.dumps(made))


def closed(schema: Any) -> Any:
    """The schema, in which nothing may be there that it does not describe."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: closed(one) for name, one in schema.items()}
    described = "properties" in kept and "additionalProperties" not in kept
    return kept | ({"additionalProperties": False} if described else {})


STRICT = Draft202012Validator(closed(SCHEMA), format_checker=Draft202012Validator.FORMAT_CHECKER)


def test_the_schema_is_one():
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("view", [WHOLE, EVERYTHING, AuditView(severity=Severity.HIGH)])
@pytest.mark.parametrize("text", ["", BROKEN, MIXED])
def test_every_document_is_as_the_schema_says(text, view):
    acknowledgements = (said("finding", OLD), said("host-gone", "h9"))
    STRICT.validate(document(text, view, *acknowledgements))
    STRICT.validate(document(text, view))


@pytest.mark.parametrize(
    "damage",
    [
        {"format": 2},
        {"taken_at": None},
        {"findings": [{}]},
        {"counts": {}},
        {"complete": "yes"},
        {"more": 1},
    ],
)
def test_another_document_is_not(damage):
    assert not STRICT.is_valid(document(BROKEN) | damage)


def test_the_schema_knows_every_severity():
    assert SCHEMA["$defs"]["severity"]["enum"] == [severity.value for severity in Severity]


def test_numbers_are_numbers_and_providers_have_a_uuid_and_a_name():
    [db] = [row for row in document(BROKEN)["findings"] if row["subject"]["uuid"] == uuid_of("db")]
    assert db["evidence"]["holds"] == [
        {"provider": uuid_of("h2"), "name": "h2", "resources": {"VCPU": 1, "MEMORY_MB": 128}}
    ]
    assert db["effect"]["capacity"][0] == {
        "provider": uuid_of("h1"),
        "name": "h1",
        "resources": {"VCPU": -1, "MEMORY_MB": -128},
    }
    assert db["remedy"] == {"steps": 1, "declined": None, "why": None}
    assert db["id"] == f"wrong-provider:{uuid_of('db')}"


def test_since_when_it_is_so_is_a_time_and_a_number():
    [old] = [row for row in document(BROKEN)["findings"] if row["id"] == OLD]
    assert (old["since"], old["age_seconds"]) == ("2026-11-21T11:00:00Z", 3600)
    assert old["effect"]["quota"][0]["project"] == OWNER["project"]


def test_counts_are_of_all_and_a_filter_hides_only_rows():
    every = document(BROKEN)
    some = document(BROKEN, AuditView(defects=frozenset({"wrong-provider"})))
    assert [row["defect"] for row in some["findings"]] == ["wrong-provider"]
    same = ("findings", "by_severity", "by_defect", "unchecked", "left_alone")
    assert [some["counts"][name] for name in same] == [every["counts"][name] for name in same]
    assert some["counts"]["hidden"] == len(every["findings"]) - 1
    assert some["counts"]["shown"] == 1
    assert sum(every["counts"]["by_severity"].values()) == every["counts"]["findings"]
    assert set(every["counts"]["by_defect"]) <= {defect.NAME for defect in DEFECTS}


def test_what_has_no_verdict_is_counted_also_where_it_is_not_listed():
    cloud = (
        "cell1\n  host h1 VCPU=8 MEMORY_MB=8192\n  server web on h1 VCPU=2 MEMORY_MB=256\n"
        "  host h2 without-provider\n  server app on h2 VCPU=2 MEMORY_MB=256\n"
        "holds web h1 VCPU=2 MEMORY_MB=256\n"
    )
    some, every = document(cloud), document(cloud, EVERYTHING)
    for name in ("right", "not_checked"):
        assert name not in some
        assert some["counts"][name] == every["counts"][name] == len(every[name]) == 1


def test_what_is_muted_says_why_and_until_when():
    made = document(BROKEN, WHOLE, said("finding", OLD))
    [muted] = made["muted"]
    assert muted["id"] == OLD
    assert muted["acknowledgement"]["reason"] == "ticket 4711"
    assert OLD not in {row["id"] for row in made["findings"]}


def test_a_silent_source_is_named_and_the_evidence_is_not_complete():
    made = document(MIXED)
    assert made["complete"] is False
    assert made["counts"]["silent_sources"] == 1
    [silent] = [row for row in made["coverage"] if not row["answered"]]
    assert (silent["source"], silent["reason"]) == ("cell2", "it is down")
    assert made["unchecked"]


def test_what_was_left_alone_is_there_when_it_is_asked_for():
    assert "left_alone" not in document(MIXED)
    [left] = document(MIXED, EVERYTHING)["left_alone"]
    assert (left["since"], left["age_seconds"]) == ("2026-11-21T11:55:00Z", 300)
    assert document(MIXED)["counts"]["left_alone"] == 1


def test_what_is_right_is_there_when_it_is_asked_for():
    right = "cell1\n  host h1 VCPU=8\n  server web state=shelved_offloaded VCPU=2 MEMORY_MB=256\n"
    made = document(right, EVERYTHING)
    STRICT.validate(made)
    assert [row["subject"]["uuid"] for row in made["right"]] == [uuid_of("web")]
    assert made["not_checked"] == []
    assert "right" not in document(right)
