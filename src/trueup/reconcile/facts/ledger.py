# SPDX-License-Identifier: Apache-2.0
"""Rows of Placement's database that its API leaves out or misreads."""

from dataclasses import dataclass
from typing import Literal

FaultKind = Literal["consumerless", "tree", "dangling"]


@dataclass(frozen=True, slots=True)
class LedgerFault:
    """Rows of Placement's database that are wrong by themselves.

    `consumerless`: `amount` of `resource_class` that counts as usage of a provider, and that no
    listed allocation holds: its consumer has no row, or several rows are of one consumer. `tree`: a
    provider whose root or parent is not what the others say. `dangling`: `amount` rows of a table
    that belong to a provider that does not exist. `subject` is the provider's uuid, or the table
    and the number that its rows refer to. `what` says it in words. `consumers` are those whose
    allocations the rows are; only the database shows them.
    """

    kind: FaultKind
    subject: str
    what: str
    resource_class: str = ""
    amount: int = 0
    consumers: tuple[str, ...] = ()
