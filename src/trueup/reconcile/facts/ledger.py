# SPDX-License-Identifier: Apache-2.0
"""What only Placement's own database shows: rows that its API leaves out or misreads."""

from dataclasses import dataclass
from typing import Literal

FaultKind = Literal["consumerless", "tree", "dangling"]


@dataclass(frozen=True, slots=True)
class LedgerFault:
    """Rows of Placement's database that are wrong by themselves.

    `consumerless`: allocations of a provider whose consumers have no row; `amount` of
    `resource_class`. `tree`: a provider whose root or parent is not what the others say.
    `dangling`: `amount` rows of a table that belong to a provider that does not exist. `subject` is
    the provider's uuid, or the table and the number that its rows refer to. `what` says it in
    words.
    """

    kind: FaultKind
    subject: str
    what: str
    resource_class: str = ""
    amount: int = 0
