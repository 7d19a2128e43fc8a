# SPDX-License-Identifier: Apache-2.0
"""The messages of a run are what docs/outcome.schema.json says, and valid events of CADF."""

import json

import pytest
from jsonschema import Draft202012Validator
from pycadf import cadftaxonomy, timestamp

from tests.reconcile.planning import planned
from tests.reconcile.report.test_audit_document import closed
from tests.tree import REPOSITORY
from trueup.reconcile.reasons import because
from trueup.reconcile.report.run_messages import run_began, run_ended, step_ended
from trueup.reconcile.runs.journal import Origin, Outcome
from trueup.reconcile.runs.journals import applying

SCHEMA = json.loads((REPOSITORY / "docs" / "outcome.schema.json").read_text())
STRICT = Draft202012Validator(closed(SCHEMA), format_checker=Draft202012Validator.FORMAT_CHECKER)
PLAN = planned()
DONE, REFUSED, UNKNOWN = (
    Outcome(step.id, result, because("answer", words="it moved"))
    for step, result in zip(PLAN.steps, ("done", "refused", "unknown"), strict=True)
)


@pytest.fixture
def messages(tmp_path):
    """Of a run with a step done, one refused, and one unknown."""
    with applying(PLAN, tmp_path, Origin("operator", "controller", "http://p")) as journal:
        found = [run_began(journal)]
        for step, outcome in zip(PLAN.steps, (DONE, REFUSED, UNKNOWN), strict=True):
            journal.intend(step)
            journal.record(outcome)
            found.append(step_ended(journal, step, outcome))
        return [*found, run_ended(journal, "Unreachable")]


def test_the_schema_is_one():
    Draft202012Validator.check_schema(SCHEMA)


def test_every_message_is_as_the_schema_says(messages):
    for message in messages:
        STRICT.validate(json.loads(message.line(as_cadf=False)))


def test_a_step_tells_programs_the_name_of_its_reason(messages):
    words, why = (messages[2].document[label] for label in ("reason", "why"))
    assert words == "it moved"
    assert why == {"name": "answer", "fields": {"words": "it moved"}, "causes": []}


def test_every_event_is_one_of_cadf(messages):
    events = [json.loads(message.line(as_cadf=True)) for message in messages]
    assert [event["outcome"] for event in events] == [
        "pending", "success", "failure", "unknown", "failure",
    ]  # fmt: skip
    for event in events:
        assert event["typeURI"] == "http://schemas.dmtf.org/cloud/audit/1.0/event"
        assert cadftaxonomy.is_valid_action(event["action"])
        assert cadftaxonomy.is_valid_outcome(event["outcome"])
        assert timestamp.is_valid(event["eventTime"])
        for part in ("initiator", "target", "observer"):
            assert cadftaxonomy.is_valid_resource(event[part]["typeURI"]), event[part]
    assert len({event["id"] for event in events}) == len(events)


def test_a_message_names_the_journal_as_it_was(messages):
    assert [message.document["journal"]["line"] for message in messages] == [1, 3, 5, 7, 7]
    assert [message.grave for message in messages] == [False, False, True, True, True]


def test_what_one_may_do_next_is_told(messages):
    run = messages[0].document["run"]
    assert [one["command"] for one in messages[-1].document["next"]] == [
        f"trueup journal {run}",
        f"trueup verify {run}",
        f"trueup undo {run}",
    ]
