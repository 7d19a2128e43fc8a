# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a row, and what would mend it."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong in the tables themselves.

    `remedy` says what a repair does or, if `repairable` is false, why there is none. `rows` is
    what the repair of the same defect needs to know; nobody else looks into it.
    """

    defect: str
    subject: str
    evidence: str
    remedy: str
    repairable: bool = True
    rows: Any = None


@dataclass(frozen=True, slots=True)
class Incomplete:
    """The project and the user that stand in where nobody knows whose a consumer is."""

    project_id: str
    user_id: str
