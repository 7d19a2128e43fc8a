# SPDX-License-Identifier: Apache-2.0
"""Policies from their text."""

from pathlib import Path
from tempfile import TemporaryDirectory

from trueup.reconcile.plan.policy import Policy
from trueup.reconcile.plan.policy_file import InForce, load


def policy(text: str) -> Policy:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "policy.toml"
        path.write_text(text)
        return load(path)


def in_force(*texts: str) -> tuple[InForce, ...]:
    return tuple(InForce(policy(text), f"{number}.toml") for number, text in enumerate(texts, 1))
