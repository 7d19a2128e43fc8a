# SPDX-License-Identifier: Apache-2.0
"""Rules: what an operator may set about how careful an audit is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """`grace_seconds`: how long after its deletion an instance's allocation is nobody's fault."""

    grace_seconds: int = 600
