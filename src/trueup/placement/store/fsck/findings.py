# SPDX-License-Identifier: Apache-2.0
"""A finding in the tables, and the owner of consumers that have none."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect of a row or a provider.

    `remedy` says what a repair does or, if `repairable` is false, why there is none. `rows` is
    private to the defect: its repair reads it.
    """

    defect: str
    subject: str
    evidence: str
    remedy: str
    repairable: bool = True
    rows: Any = None


@dataclass(frozen=True, slots=True)
class Incomplete:
    """The project and the user of consumers whose owner is unknown (incomplete consumers)."""

    project_id: str
    user_id: str
