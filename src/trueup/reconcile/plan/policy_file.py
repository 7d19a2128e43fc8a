# SPDX-License-Identifier: Apache-2.0
"""Policies in files. The one of this machine is always in force; an option only adds to it."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec.structs import replace

from trueup.reconcile.files import is_there
from trueup.reconcile.plan.policy import Policy

# The policy of this machine.
MACHINE = Path("/etc/trueup/policy.toml")


@dataclass(eq=False)
class PolicyInvalid(Exception):
    """The file of a policy cannot be read, or says something that means nothing."""

    path: str
    reason: str


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
        raise PolicyInvalid(str(path), error.strerror or str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PolicyInvalid(str(path), str(error)) from error


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


def in_force(named: Iterable[Path]) -> tuple[InForce, ...]:
    """The policy of this machine, if it has one, and those that are named. Raises PolicyInvalid.

    SAFETY: each of them is obeyed, so that naming one never permits more. That of the machine is
    there unless its folder says that it is not: a link to a file that is gone is an error.
    """
    paths = dict.fromkeys((*([MACHINE] if is_there(MACHINE) else []), *named))
    return tuple(InForce(load(path), str(path)) for path in paths)
