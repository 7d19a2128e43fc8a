# SPDX-License-Identifier: Apache-2.0
"""Signatures beside a plan's file; tests/cli/commands/test_approve.py has what refuses a plan."""

import getpass

import pytest

from tests.cli.signers import Signers
from tests.reconcile.planning import planned
from trueup.reconcile.plan.policy import ApprovalTerms
from trueup.reconcile.runs.approvals import (
    NotApproved,
    approvals_of,
    approve,
    beside,
    own_accounts,
    signed,
)


def test_the_signatures_of_two_files_are_joined(tmp_path):
    signers, plan = Signers(tmp_path), planned()
    paths = [tmp_path / "a" / "plan.json", tmp_path / "b" / "plan.json"]
    for path, name in zip(paths, ("alice", "bob"), strict=True):
        path.parent.mkdir()
        approve(plan, path, signers.key(name))
    whole = tmp_path / "plan.json"
    beside(whole).write_text("\n".join(beside(path).read_text() for path in paths))
    terms = ApprovalTerms(signers=str(signers.allowed))
    found = approvals_of(signed(plan, whole), 2, terms, ())
    assert [one.by for one in found] == ["alice@example.org", "bob@example.org"]


def test_one_key_under_two_names_counts_once(tmp_path):
    signers, plan, path = Signers(tmp_path), planned(), tmp_path / "plan.json"
    approve(plan, path, signers.key("alice", "alice@example.org,bob@example.org"))
    approve(plan, path, tmp_path / "alice")
    terms = ApprovalTerms(signers=str(signers.allowed))
    with pytest.raises(NotApproved) as raised:
        approvals_of(signed(plan, path), 2, terms, ())
    assert len(raised.value.approvals) == 1
    with pytest.raises(NotApproved):
        approvals_of(signed(plan, path), 1, terms, ["bob"])


def test_who_applies_with_sudo_is_the_one_who_called_it(monkeypatch):
    monkeypatch.setattr("os.getuid", lambda: 0)
    monkeypatch.setenv("SUDO_USER", "alice")
    assert own_accounts() == {"alice", "root", getpass.getuser()}


def test_one_person_with_two_keys_and_two_principals_counts_once(tmp_path):
    """Who one person is, is said by the account, and by a key that has both principals."""
    signers, plan, path = Signers(tmp_path), planned(), tmp_path / "plan.json"
    approve(plan, path, signers.key("alice", "alice@example.org"))
    approve(plan, path, signers.key("home", "alice@example.net"))
    terms = ApprovalTerms(signers=str(signers.allowed))
    with pytest.raises(NotApproved) as raised:
        approvals_of(signed(plan, path), 2, terms, ())
    assert len(raised.value.approvals) == 1
    two = ApprovalTerms(signers=str(signers.allowed), accounts={"alice@example.net": "alice2"})
    assert len(approvals_of(signed(plan, path), 2, two, ())) == 2


def test_who_applies_as_another_account_with_sudo_is_still_who_applies(monkeypatch):
    monkeypatch.setattr("os.getuid", lambda: 4321)
    monkeypatch.setenv("SUDO_USER", "alice")
    assert "alice" in own_accounts(), "sudo -u trueup trueup apply"
