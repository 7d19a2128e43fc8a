# SPDX-License-Identifier: Apache-2.0
"""Plans are approved with SSH keys, and are refused by name without. ssh-keygen is the real one."""

import getpass
from dataclasses import replace

import pytest

from tests.cli.running import trueup
from tests.cli.signers import Signers
from trueup.reconcile.plan.plan_file import load, save
from trueup.reconcile.runs.approvals import beside
from trueup.reconcile.runs.journals import runs


@pytest.fixture
def signers(tmp_path) -> Signers:
    return Signers(tmp_path)


@pytest.fixture
def before(small):
    return small.rows()


def test_with_enough_persons_a_plan_is_applied_and_the_journal_names_them(
    small, plan_file, signers, state
):
    for name in ("alice", "bob"):
        ran = trueup("approve", plan_file, "--key", signers.key(name), "-f", "json")
        assert ran.code == 0, ran.err
        assert len(ran.json()) == 4, "it shows what was signed"
    ran = trueup("apply", plan_file, "--policy", signers.require(2))
    assert ran.code == 0, ran.err
    [journal] = runs(state)
    assert [one.by for one in journal.origin.approvals] == ["alice@example.org", "bob@example.org"]
    assert all(one.key.startswith("SHA256:") for one in journal.origin.approvals)
    [row] = trueup("journal", "-f", "json").json()
    assert row["Approved by"] == "alice@example.org bob@example.org"
    assert row["Planned by"].startswith(f"{getpass.getuser()}@")


def test_a_plan_says_how_many_persons_have_to_approve_it(nova_conf, signers, tmp_path):
    policy, path = signers.require(1), tmp_path / "plan.json"
    made = ("plan", "--interval", 0.01, "--out", path, "--policy", policy)
    approve = f"trueup approve {path} --key FILE --policy {signers.policy}"
    assert f"First, the approval of 1 other person: {approve}\nNext: " in trueup(*made).err
    policy.write_text(f'default = "approval"\ndefault_approvals = 2\n{policy.read_text()}')
    assert "First, the approval of 2 other persons" in trueup(*made).err


def refused(plan_file, signers, small, before, *words) -> str:
    """What a refused apply says; nothing is written."""
    policy = signers.policy if signers.policy.exists() else signers.require(1)
    ran = trueup("apply", plan_file, "--policy", policy, *words)
    assert ran.code == 2, ran.err
    assert small.rows() == before
    return ran.err


def test_without_an_approval_it_is_refused(plan_file, signers, small, before):
    assert "was approved by nobody." in refused(plan_file, signers, small, before)


def test_the_option_asks_for_more_than_the_policy_and_never_for_fewer(
    plan_file, signers, small, before
):
    trueup("approve", plan_file, "--key", signers.key("alice"))
    signers.require(1)
    words = ("--require-approval", 2)
    assert "needs the approval of 2 other persons" in refused(
        plan_file, signers, small, before, *words
    )
    ran = trueup("apply", plan_file, "--policy", signers.policy, "--require-approval", 0)
    assert ran.code == 0, ran.err


def test_nobody_approves_what_he_applies(plan_file, signers, small, before):
    key = signers.key("own", f"{getpass.getuser()}@example.org")
    trueup("approve", plan_file, "--key", key)
    assert "who applies the plan" in refused(plan_file, signers, small, before)


def test_an_account_of_another_name_is_told_in_the_policy(plan_file, signers, small, before):
    trueup("approve", plan_file, "--key", signers.key("own", "o@x"))
    signers.require(1, f'[approval.accounts]\n"o@x" = "{getpass.getuser()}"\n')
    assert "o@x is " in refused(plan_file, signers, small, before)


def test_one_person_counts_once(plan_file, signers, small, before):
    for name in ("first", "second"):
        trueup("approve", plan_file, "--key", signers.key(name, "alice@example.org"))
    signers.require(2)
    assert "was approved by alice@example.org" in refused(plan_file, signers, small, before)


def test_one_person_with_several_principals_counts_once(plan_file, signers, small, before):
    people = ("alice@x", "a.smith@x,alice@x", "smith@x,a.smith@x")
    for number, principals in enumerate((*people, "bob@x")):
        trueup("approve", plan_file, "--key", signers.key(f"key{number}", principals))
    signers.require(3)
    assert "approved by alice@x, bob@x" in refused(plan_file, signers, small, before)


def test_an_edited_plan_is_refused_even_with_a_digest_that_fits(plan_file, signers, small, before):
    trueup("approve", plan_file, "--key", signers.key("alice"))
    plan = load(plan_file)
    save(replace(plan, steps=plan.steps[:1]), plan_file)
    assert "another plan, or the plan was edited" in refused(plan_file, signers, small, before)


def test_an_expired_key_is_refused(plan_file, signers, small, before):
    key = signers.key("alice", options='valid-before="20200101"')
    trueup("approve", plan_file, "--key", key)
    assert "key has expired" in refused(plan_file, signers, small, before)


def test_a_key_of_another_namespace_is_refused(plan_file, signers, small, before):
    trueup("approve", plan_file, "--key", signers.key("alice", options='namespaces="git"'))
    assert "alice@example.org may not approve" in refused(plan_file, signers, small, before)


def test_a_stranger_is_refused(plan_file, signers, small, before):
    key = signers.key("alice")
    signers.allowed.write_text("")
    trueup("approve", plan_file, "--key", key)
    assert "no allowed signer has its key" in refused(plan_file, signers, small, before)


def test_a_pattern_is_nobody(plan_file, signers, small, before):
    trueup("approve", plan_file, "--key", signers.key("alice", "*@example.org"))
    assert "belongs to the pattern" in refused(plan_file, signers, small, before)


def test_a_revoked_key_refuses_the_plan_whoever_else_approved_it(plan_file, signers, small, before):
    lost = signers.key("lost")
    for key in (signers.key("alice"), lost):
        trueup("approve", plan_file, "--key", key)
    signers.revoke(lost)
    words = refused(plan_file, signers, small, before)
    assert "of lost@example.org is revoked" in words
    assert "Make a new plan" in words, "another approval would not help"


def test_revoked_keys_that_cannot_be_read_refuse_every_plan(plan_file, signers, small, before):
    trueup("approve", plan_file, "--key", signers.key("alice"))
    for option in ("revoked", "signers"):
        signers.require(1)
        path = signers.revoked if option == "revoked" else signers.allowed
        path.unlink()
        words = refused(plan_file, signers, small, before)
        assert f"{path} cannot be read: No such file" in words
        assert f"'{option}' in [approval]" in words
        path.write_text("")


@pytest.mark.parametrize(
    ("principal", "options", "words"),
    [
        ("alice@x", "", ""),
        ("alice@x", 'valid-before="20200101"', "does not count: no allowed signer has its key"),
        ("alice@x", 'namespaces="git"', "does not count: alice@x may not approve"),
        ("*@x", "", "does not count: in the allowed signers, its key"),
        (f"{getpass.getuser()}@x", "", "It counts, but"),
        ("revoked@x", "", "does not count: the key"),
        ("nobody", "", "does not count: no allowed signer has its key"),
        ("unknown", "", "Whether it counts is not known here"),
    ],
)
def test_who_approves_is_told_at_once_whether_it_counts(
    plan_file, signers, principal, options, words
):
    key, policy = signers.key("key", principal, options), signers.require(1)
    if principal == "revoked@x":
        signers.revoke(key)
    if principal == "nobody":
        signers.allowed.write_text("")
    if principal == "unknown":
        signers.allowed.unlink()
    ran = trueup("approve", plan_file, "--key", key, "--policy", policy)
    assert ran.code == 0
    assert words in ran.err if words else "count" not in ran.err


def test_whoever_may_read_the_plan_may_read_its_approvals(plan_file, signers):
    plan_file.chmod(0o640)
    trueup("approve", plan_file, "--key", signers.key("alice"))
    assert beside(plan_file).stat().st_mode & 0o777 == 0o640


def test_a_plan_that_is_made_anew_is_approved_by_nobody(plan_file, signers, small, before):
    trueup("approve", plan_file, "--key", signers.key("alice"))
    assert "plan again" in refused(plan_file, signers, small, before, "--replan", 1)


def test_a_part_of_an_approved_plan_is_approved(plan_file, signers):
    trueup("approve", plan_file, "--key", signers.key("alice"))
    words = ("--policy", signers.require(1), "--only", "orphaned-allocation", "-f", "json")
    ran = trueup("apply", plan_file, *words)
    assert (ran.code, len(ran.json())) == (0, 1), ran.err


def test_a_key_that_cannot_be_used_is_said(plan_file, tmp_path):
    ran = trueup("approve", plan_file, "--key", tmp_path / "nosuch")
    assert ran.code == 2
    assert "ssh-keygen: " in ran.err


def test_without_ssh_keygen_it_is_said(plan_file, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = trueup("approve", plan_file, "--key", tmp_path / "key")
    assert (ran.code, "openssh-client" in ran.err) == (2, True)


def test_a_policy_that_means_nothing_is_refused(plan_file, signers, small, before):
    signers.policy.write_text("[aproval]\nrequired = 1\n")
    assert "unknown field `aproval`" in refused(plan_file, signers, small, before)
