# SPDX-License-Identifier: Apache-2.0
"""The published schemas of plans, journals and policies are those of the files that are read."""

import json

import pytest
from jsonschema import Draft202012Validator

from tests.reconcile.planning import BROKEN, planned
from tests.scenarios.test_audits import FILES, LINE
from tools.document_schemas import DOCS, schemas
from trueup.reconcile.plan.plan_file import save
from trueup.reconcile.reasons import because
from trueup.reconcile.runs.journal import Origin, Outcome
from trueup.reconcile.runs.journals import applying

# One cloud for each kind of wrongness.
CLOUDS = {path.stem: path.read_text().partition(LINE)[0] for path in FILES} | {"several": BROKEN}


def validator(name: str) -> Draft202012Validator:
    schema = json.loads((DOCS / f"{name}.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_the_files_are_what_the_tool_writes():
    old = [path.name for path, text in schemas().items() if path.read_text() != text]
    assert not old, "run: python tools/document_schemas.py"


def test_every_plan_is_as_the_schema_says(tmp_path):
    plans = validator("plan")
    path = tmp_path / "plan.json"
    for name, cloud in CLOUDS.items():
        save(planned(cloud), path)
        broken = [error.message for error in plans.iter_errors(json.loads(path.read_text()))]
        assert not broken, name


def test_every_line_of_a_journal_is_as_the_schema_says(tmp_path):
    plan = planned()
    first, second, third = plan.steps
    with applying(plan, tmp_path, Origin("operator", "controller", "http://p")) as journal:
        journal.intend(first, second)
        journal.intend_at(third, ({},))
        journal.record(Outcome(first.id, "done", versions=({},), request_ids=("req-1",)))
        journal.record(Outcome(second.id, "refused", because("answer", words="it moved")))
        journal.take_back(first.id, "another-1", ({},))
    lines = (tmp_path / f"{journal.run}.jsonl").read_text().splitlines()
    for line in lines:
        validator("journal").validate(json.loads(line))
    assert {json.loads(line)["entry"]["type"] for line in lines} == {
        "plan", "intended", "recorded", "taken-back",
    }  # fmt: skip


@pytest.mark.parametrize(
    "damage",
    [
        lambda plan: plan.pop("digest"),
        lambda plan: plan["plan"].pop("steps"),
        lambda plan: plan["plan"]["steps"][0].pop("changes"),
        lambda plan: plan["plan"]["steps"][0]["changes"][0]["target"].update(type="disk"),
        lambda plan: plan["plan"]["findings"][0].update(severity="none"),
    ],
)
def test_what_is_no_plan_is_refused_by_the_schema(damage, tmp_path):
    path = tmp_path / "plan.json"
    save(planned(), path)
    document = json.loads(path.read_text())
    damage(document)
    assert not validator("plan").is_valid(document)
