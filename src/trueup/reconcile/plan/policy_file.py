# SPDX-License-Identifier: Apache-2.0
"""Policies in files. The one of this machine is always in force; an option only adds to it."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import get_args

import msgspec
from msgspec.structs import replace

from trueup.reconcile.files import is_there
from trueup.reconcile.plan.policy import (
    DAYS,
    ApprovalTerms,
    Budget,
    Decision,
    Freeze,
    Policy,
    Rule,
    Way,
    Window,
)
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.verdicts import Severity

_NUMBERED = re.compile(r"\[(\d+)\]")
_UNKNOWN = re.compile(r"unknown field `([^`]+)`")
_PARTS: Mapping[str, type[msgspec.Struct]] = {
    "the beginning of the file, before any table": Policy,
    "[[rule]]": Rule,
    "[[window]]": Window,
    "[[freeze]]": Freeze,
    "[approval]": ApprovalTerms,
    "[automatic]": Budget,
}
_VALUES: Mapping[str, tuple[str, ...]] = {
    "decision": get_args(Decision),
    "default": get_args(Decision),
    "severities": tuple(Severity),
    "directions": get_args(Way),
    "days": DAYS,
}
# The policy of this machine.
MACHINE = Path("/etc/trueup/policy.toml")


@dataclass(eq=False)
class PolicyInvalid(Exception):
    """The file of a policy cannot be read, or says something that means nothing."""

    path: str
    reason: str
    missing: bool = False


@dataclass(frozen=True, slots=True)
class InForce:
    """A policy that is in force, and its file."""

    policy: Policy
    path: str


def load(path: Path) -> Policy:
    """Read a policy; the files that it names are then beside it. Raises PolicyInvalid."""
    try:
        return _beside(path.parent, msgspec.toml.decode(path.read_bytes(), type=Policy))
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        raise PolicyInvalid(str(path), error.strerror or str(error), missing) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PolicyInvalid(str(path), _explained(str(error))) from error


def _beside(folder: Path, policy: Policy) -> Policy:
    """SAFETY: from another folder, somebody would bring allowed signers of their own."""
    terms, budget = policy.approval, policy.automatic
    terms = replace(
        terms,
        signers=str(folder / terms.signers),
        revoked=str(folder / terms.revoked) if terms.revoked else "",
    )
    budget = budget and replace(budget, pause=str(folder / budget.pause))
    return replace(policy, approval=terms, automatic=budget)


def _explained(words: str) -> str:
    """What is wrong with a policy, where it is, and what may have been meant."""
    what, _, place = words.partition(" - at `$")
    place = _NUMBERED.sub(lambda one: f" {int(one[1]) + 1}", place.strip("`.")).replace(".", ", ")
    if unknown := _UNKNOWN.search(what):
        what = f"unknown field `{unknown[1]}`{_meant(unknown[1])}"
    elif "matching regex" in what or "length <= 5" in what:
        what = "it is no time of day, such as 22:00"
    elif "enum value" in what:
        known = _VALUES.get(re.findall("[a-z]+", place)[-1], ())
        what += f": it is one of {', '.join(known)}" if known else ""
    return f"in {place}: {what}" if place else what


def _meant(word: str) -> str:
    """What somebody may have meant who wrote a word that is not known where it stands."""
    for part, kind in _PARTS.items():
        if word in kind.__struct_encode_fields__:
            return f", which belongs into {part}"
    known = [field for kind in _PARTS.values() for field in kind.__struct_encode_fields__]
    near = get_close_matches(word, known, 1)
    return f"; did you mean `{near[0]}`?" if near else ""


def unreadable(policy: Policy) -> Iterator[Reason]:
    """The files that approvals need, and that cannot be read here."""
    decisions = {policy.default, *(rule.decision for rule in policy.rules)}
    if policy.approval.required or "approval" in decisions:
        for option in ("signers", "revoked"):
            path = getattr(policy.approval, option)
            if path and not os.access(path, os.R_OK):
                yield because("policy-file-unreadable", option=option, path=path)


def in_force(named: Iterable[Path]) -> tuple[InForce, ...]:
    """The policy of this machine, if it has one, and those that are named. Raises PolicyInvalid.

    SAFETY: each of them is obeyed, so that naming one never permits more. That of the machine is
    there unless its folder says that it is not: a link to a file that is gone is an error.
    """
    paths = dict.fromkeys((*([MACHINE] if is_there(MACHINE) else []), *named))
    return tuple(InForce(load(path), str(path)) for path in paths)
