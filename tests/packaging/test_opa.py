# SPDX-License-Identifier: Apache-2.0
"""The example of a policy, evaluated on plans of broken clouds."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.reconcile.planning import BROKEN, planned
from tests.servers.skipping import skip_without
from tests.tree import REPOSITORY
from trueup.reconcile.plan.plan_file import save

POLICY = (REPOSITORY / "packaging" / "opa" / "plan.rego").read_text()


@pytest.fixture
def plan(tmp_path: Path) -> Any:
    save(planned(BROKEN), tmp_path / "plan.json")
    return json.loads((tmp_path / "plan.json").read_text())


def said(rule: str, document: Any) -> list[str]:
    try:
        import regopy
    except OSError as missing:
        # Its wheel is linked with a library that a small system lacks.
        skip_without(f"{missing}: install the package libatomic1")
    rego = regopy.Interpreter()
    rego.add_module("plan.rego", POLICY)
    rego.set_input(document)
    answer = json.loads(str(rego.query(f"data.main.{rule}")))
    [[found]] = [one["expressions"] for one in answer.get("result", [answer])]
    return list(found)


def test_a_plan_that_the_policy_allows(plan):
    assert (said("deny", plan), said("warn", plan)) == ([], [])


def many(plan: Any) -> None:
    [first, *_] = plan["findings"]
    plan["findings"] = [
        first | {"subject": {"kind": "instance", "uuid": str(number)}} for number in range(11)
    ]


def kind(plan: Any) -> None:
    plan["steps"][0]["changes"][0]["target"] = {"type": "whole-provider", "uuid": "u"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda plan: plan.update(format=2), "the plan has format 2, and this policy knows"),
        (many, "the plan touches 11 subjects, and 10 are allowed"),
        (kind, "changes what a person has to look at: whole-provider"),
        (lambda plan: plan["findings"][0].update(defect="ghost-domain"), "ghost-domain of "),
        (lambda plan: plan["findings"][0].update(where="compute-frozen"), "is frozen"),
    ],
)
def test_a_plan_that_it_refuses(plan, change: Callable[[Any], None], words):
    change(plan["plan"])
    [message] = said("deny", plan)
    assert words in message


def test_a_host_that_would_be_overcommitted_is_a_warning(plan):
    plan["plan"]["effects"][0]["hosts"][0].update(used_after=101)
    [message] = said("warn", plan)
    assert message == "h1 would have more DISK_GB in use than its capacity"
