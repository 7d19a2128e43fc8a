# SPDX-License-Identifier: Apache-2.0
"""Approvals: signatures of a plan with SSH keys, made and verified by OpenSSH's ssh-keygen.

A signature is of the plan's name and of the digest of its content. They are kept in a file beside
the plan, one after the other as ssh-keygen writes them, so that two files are joined with `cat`.
"""

import os
import pwd
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from trueup.reconcile import files
from trueup.reconcile.account import user_name
from trueup.reconcile.plan import Plan
from trueup.reconcile.plan.policy import ApprovalTerms
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.runs.journal import Approval
from trueup.reconcile.runs.keygen import KeygenFailed, Ran, keygen, words_of

NAMESPACE = "trueup-plan"
SUFFIX = ".approvals"
_SIGNATURE = re.compile(
    r"-----BEGIN SSH SIGNATURE-----\n.*?\n-----END SSH SIGNATURE-----\n?", re.DOTALL
)
_FINGERPRINT = re.compile(r"key (SHA256:\S+)")
# A pattern, and not the name of one person.
_PATTERN = re.compile(r"[*?!]")


@dataclass(eq=False)
class NotApproved(Exception):
    """Fewer persons than needed have approved the plan, or a revoked key has signed it.

    `refused` says of each signature that does not count why.
    """

    needed: int
    approvals: tuple[Approval, ...]
    refused: tuple[Reason, ...]


@dataclass(eq=False)
class ApprovalFileUnreadable(Exception):
    """The file that this option of [approval] names cannot be read, so nobody is known."""

    option: str
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Signed:
    """A plan as it was read from its file, with the signatures beside that file."""

    plan: Plan
    signatures: tuple[str, ...]


def beside(plan: Path) -> Path:
    """The file with the approvals of a plan's file."""
    return plan.with_name(plan.name + SUFFIX)


def signed(plan: Plan, path: Path) -> Signed:
    """A plan with the signatures beside its file; without that file there are none."""
    try:
        text = beside(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        text = ""
    return Signed(plan, tuple(_SIGNATURE.findall(text)))


def approve(plan: Plan, path: Path, key: Path) -> Signed:
    """Add our signature, which is returned, to those beside a plan's file.

    Whoever may read the plan may read its approvals. Raises KeygenFailed, FileUnwritable.
    """
    ran = keygen("sign", "-f", str(key), "-n", NAMESPACE, text=_message(plan))
    if ran.returncode or not _SIGNATURE.fullmatch(ran.stdout):
        raise KeygenFailed(words_of(ran))
    kept = "".join(_ended(signature) for signature in signed(plan, path).signatures)
    files.write(beside(path), (kept + _ended(ran.stdout)).encode(), like=path)
    return Signed(plan, (ran.stdout,))


def approvals_of(
    given: Signed, needed: int, terms: ApprovalTerms, appliers: Iterable[str]
) -> tuple[Approval, ...]:
    """The approvals of a plan by persons who do not apply it; each person and key counts once.

    All who share an account are one person, under any principal and with any key. A key with
    several principals has the accounts of all of them.

    Raises NotApproved, KeygenFailed, ApprovalFileUnreadable.
    """
    found = _judged(given, terms, frozenset(appliers))
    approvers = [answer for answer in found if isinstance(answer, _Approver)]
    refused = [answer for answer in found if isinstance(answer, Reason)]
    every = tuple(person.approval for person in _persons(approvers))
    # SAFETY: the holder of a revoked key has signed exactly this plan: it is not to be trusted.
    revoked = any(reason.name == "approval-revoked" for reason in refused)
    if len(every) < needed or revoked:
        raise NotApproved(needed, every, tuple(refused))
    return every


def doubt_of(given: Signed, terms: ApprovalTerms) -> Reason | None:
    """Why a signature that was just made may not count; None if it does.

    Who will apply the plan is not known: it may be whoever made it. Raises as `approvals_of`.
    """
    planner = given.plan.made_by.partition("@")[0]
    [found] = _judged(given, terms, frozenset())
    if isinstance(found, Reason):
        return found
    if planner and planner in found.accounts:
        return because("approval-of-planner", by=found.approval.by, account=planner)
    return None


def _judged(
    given: Signed, terms: ApprovalTerms, appliers: frozenset[str]
) -> list["_Approver | Reason"]:
    """Who approves with each signature, or why nobody does."""
    for option in ("signers", "revoked"):
        if path := getattr(terms, option):
            try:
                os.close(os.open(path, os.O_RDONLY))
            except OSError as error:
                reason = error.strerror or str(error)
                raise ApprovalFileUnreadable(option, path, reason) from error
    found = []
    with TemporaryDirectory(prefix="trueup-approvals-") as folder:
        for text in given.signatures:
            path = Path(folder) / "signature"
            path.write_text(text, encoding="ascii")
            found.append(_Signature(path, _message(given.plan), terms).judged(appliers))
    return found


def own_accounts() -> frozenset[str]:
    """The accounts that run this program: that of the process, and that of the caller of sudo."""
    # SAFETY: whatever the account is; a wrong name here lets fewer approve, and never more.
    names = {user_name(), os.environ.get("SUDO_USER", "")}
    with suppress(KeyError):
        names.add(pwd.getpwuid(os.getuid()).pw_name)
    return frozenset(filter(None, names))


@dataclass(frozen=True, slots=True)
class _Approver:
    """The maker of a signature that counts, with the accounts of all principals of the key."""

    approval: Approval
    accounts: frozenset[str]


def _persons(approvers: Iterable[_Approver]) -> list[_Approver]:
    """Those who share an account, also through others, are one person. The first approval stays."""
    persons: list[_Approver] = []
    for approver in approvers:
        same = [person for person in persons if person.accounts & approver.accounts] or [approver]
        accounts = approver.accounts.union(*(person.accounts for person in same))
        person = _Approver(same[0].approval, accounts)
        at = persons.index(same[0]) if same[0] in persons else len(persons)
        persons[at : at + 1] = [person]
        persons = [person for person in persons if person not in same[1:]]
    return persons


@dataclass(frozen=True, slots=True)
class _Signature:
    """A signature in a file, the text that it must be of, and the terms of approval."""

    path: Path
    message: str
    terms: ApprovalTerms

    def judged(self, appliers: frozenset[str]) -> _Approver | Reason:
        """Who approves with it, or why nobody does."""
        intact = self._run("check-novalidate", "-n", NAMESPACE)
        key = _FINGERPRINT.search(intact.stdout + intact.stderr)
        if intact.returncode or key is None:
            return because("approval-of-another-plan", words=words_of(intact))
        found = self._run("find-principals", "-f", self.terms.signers)
        principals = tuple(found.stdout.split("\n"))[:-1]
        if found.returncode or not principals:
            return because("approval-signer", key=key[1], words=words_of(found))
        by = principals[0]
        if any(map(_PATTERN.search, principals)):
            return because("approval-of-nobody", by=by)
        if (verified := self._verify(by)).returncode:
            return because("approval-not-allowed", by=by, words=words_of(verified))
        if self.terms.revoked and self._verify(by, "-r", self.terms.revoked).returncode:
            return because("approval-revoked", by=by, key=key[1])
        accounts = frozenset(map(self.terms.account_of, principals))
        if own := sorted(accounts & appliers):
            return because("approval-own", by=by, account=own[0])
        return _Approver(Approval(by, key[1]), accounts)

    def _verify(self, by: str, *revoked: str) -> Ran:
        return self._run("verify", "-I", by, "-n", NAMESPACE, "-f", self.terms.signers, *revoked)

    def _run(self, verb: str, *words: str) -> Ran:
        return keygen(verb, *words, "-s", str(self.path), text=self.message)


def _message(plan: Plan) -> str:
    return f"trueup plan {plan.id}\nsha256 {plan.digest}\n"


def _ended(signature: str) -> str:
    return signature.rstrip("\n") + "\n"
