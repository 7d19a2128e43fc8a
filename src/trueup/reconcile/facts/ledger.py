# SPDX-License-Identifier: Apache-2.0
"""Rows of Placement's database that its API leaves out or misreads."""

from dataclasses import dataclass
from typing import Literal

FaultKind = Literal["consumerless", "tree", "dangling"]


@dataclass(frozen=True, slots=True)
class LedgerFault:
    """Rows of Placement's database that are wrong by themselves.

    `consumerless`: `amount` of `resource_class` that counts as usage of a provider, but is in no
    listed allocation: its consumer has no row, or one consumer has several rows. `tree`: a provider
    whose root or parent contradicts other providers. `dangling`: `amount` rows of a table that
    refer to a provider or resource class that does not exist. `subject` is the provider's uuid, or
    the table and the number that its rows refer to. `what` says it in words. `consumers` are the
    consumers of the rows; only the database shows them.
    """

    kind: FaultKind
    subject: str
    what: str
    resource_class: str = ""
    amount: int = 0
    consumers: tuple[str, ...] = ()
