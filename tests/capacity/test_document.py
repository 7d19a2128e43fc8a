# SPDX-License-Identifier: Apache-2.0
"""The document of capacity is what docs/capacity.schema.json says, and nothing more."""

import json
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.reconcile.report.test_audit_document import closed
from tests.scenarios.reading import read_cloud
from tests.tree import REPOSITORY
from trueup.capacity.asked import Gap, NotAskable, asked_of_amounts
from trueup.capacity.counting import By, Later, capacity
from trueup.capacity.document import capacity_document, failures_document
from trueup.capacity.relocation import survived
from trueup.reconcile.reasons import because

SCHEMA = json.loads((REPOSITORY / "docs" / "capacity.schema.json").read_text())
STRICT = Draft202012Validator(closed(SCHEMA), format_checker=Draft202012Validator.FORMAT_CHECKER)
NOT_ASKED = Later()
TEXT = """
cell1
  host h1 VCPU=8 MEMORY_MB=9 up
  host h2 VCPU=8 MEMORY_MB=9 up disabled
cell2 silent
  host h3 VCPU=8 MEMORY_MB=9 up
holds web h1 VCPU=3
"""


def document(by: By, later: Later = NOT_ASKED) -> dict[str, Any]:
    facts = read_cloud(TEXT).facts()
    plain = asked_of_amounts({"VCPU": 2}, ["CUSTOM_FAST"])
    asked = [asked_of_amounts({"VCPU": 2}), replace(plain, gaps=frozenset(Gap))]
    found = replace(
        capacity(asked, facts, by, later),
        not_askable=(NotAskable("odd", because("flavor-unreadable")),),
    )
    return json.loads(json.dumps(capacity_document(found, facts.taken_at, False, "1.2.3")))


def test_the_schema_is_one():
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("by", By)
def test_every_document_is_as_the_schema_says(by):
    facts = read_cloud(TEXT).facts()
    STRICT.validate(document(by))
    STRICT.validate(document(by, Later(facts, facts)))


def test_what_it_says():
    made = document(By.CLOUD)
    assert made["hosts"] == {"counted": 1, "left_out": {"disabled": 1}, "not_read": ["h3"]}
    plain, strict = made["flavors"]
    assert plain["now"] == {"fits": 2, "hosts": 1, "most_on_one_host": 2}
    assert plain["after_repair"] == plain["now"]
    assert (plain["after_plan"], plain["at_most"], plain["group"]) == (None, False, None)
    assert {"kind": "class", "what": "VCPU", "hosts": 1} in plain["binds"]
    assert (strict["now"]["fits"], strict["at_most"]) == (0, True)
    assert len(strict["not_counted"]) == len(Gap)
    assert made["refused"] == [{"name": "odd", "reason": "its flavor could not be read"}]


def test_failures_name_the_hosts_that_were_not_read():
    facts = read_cloud(TEXT).facts()
    made = json.loads(json.dumps(failures_document(survived(facts, 1), facts, "1.2.3")))
    STRICT.validate(made)
    assert (made["complete"], made["not_read"]) == (False, ["h3"])
