# SPDX-License-Identifier: Apache-2.0
"""Policies in files, and the schema that editors and reviews check them with."""

import json
import tomllib

import jsonschema
import pytest

from tests.reconcile.plan.policies import policy
from tests.tree import REPOSITORY
from trueup.reconcile.plan import policy_file
from trueup.reconcile.plan.policy_file import PolicyInvalid, in_force

SCHEMA = REPOSITORY / "docs" / "policy.schema.json"
EVERYTHING = """
default = "approval"
default_approvals = 2

[[rule]]
name = "never touch production by night"
decision = "never"
hosts = ["prod-*"]
severities = ["low"]
subjects_max = 10

[[window]]
days = ["mon", "tue"]
from = "22:00"
to = "05:00"

[[freeze]]
from = 2026-12-20T00:00:00Z
to = 2027-01-06T00:00:00Z
reason = "year end"

[approval]
required = 1
signers = "/etc/trueup/signers"
[approval.accounts]
"alice@example.org" = "al"
"""


@pytest.mark.parametrize(
    ("text", "valid"),
    [(EVERYTHING, True), ("", True), ('default = "perhaps"', False), ("[[rules]]", False)],
)
def test_the_schema_and_the_program_agree(text, valid):
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    document = json.loads(json.dumps(tomllib.loads(text), default=str))
    assert validator.is_valid(document) is valid
    if valid:
        policy(text)
    else:
        with pytest.raises(PolicyInvalid):
            policy(text)


def test_the_machines_policy_is_in_force_whatever_is_named(tmp_path, monkeypatch):
    machine, mine = tmp_path / "machine.toml", tmp_path / "mine.toml"
    mine.write_text('default = "automatic"')
    monkeypatch.setattr(policy_file, "MACHINE", machine)
    assert [one.path for one in in_force([mine])] == [str(mine)]
    assert in_force([]) == ()
    machine.write_text('default = "ask"')
    assert [one.path for one in in_force([mine])] == [str(machine), str(mine)]
    assert [one.policy.default for one in in_force([machine])] == ["ask"]


def test_a_policy_that_is_named_and_not_there_is_refused(tmp_path):
    with pytest.raises(PolicyInvalid):
        in_force([tmp_path / "nosuch.toml"])


@pytest.mark.parametrize("lead", ["nowhere", "folder", "."])
def test_a_policy_of_the_machine_that_cannot_be_read_is_not_left_out(lead, tmp_path, monkeypatch):
    """A link to a file that is gone, or to itself, must not permit everything."""
    machine = tmp_path / "policy.toml"
    (tmp_path / "folder").mkdir()
    machine.symlink_to(tmp_path / lead if lead != "." else machine)
    monkeypatch.setattr(policy_file, "MACHINE", machine)
    with pytest.raises(PolicyInvalid):
        in_force(())


def test_files_that_a_policy_names_are_beside_it(tmp_path, monkeypatch):
    """Whoever calls from another folder must not bring signers of their own."""
    elsewhere, path = tmp_path / "elsewhere", tmp_path / "policy.toml"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    path.write_text(
        '[approval]\nsigners = "signers"\nrevoked = "/etc/revoked"\n[automatic]\npause = "pause"\n'
    )
    found = policy_file.load(path)
    assert found.approval.signers == str(tmp_path / "signers")
    assert found.approval.revoked == "/etc/revoked"
    assert found.automatic.pause == str(tmp_path / "pause")
