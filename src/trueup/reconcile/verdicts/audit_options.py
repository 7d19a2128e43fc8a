# SPDX-License-Identifier: Apache-2.0
"""Audit options: how careful an operator wants an audit to be."""

from dataclasses import dataclass

from trueup.reconcile.verdicts.acknowledgements import Acknowledgement


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """`grace_seconds`: for how long after a deletion nova-compute may still release the allocation.

    `stuck_seconds`: after how long something under way with an instance counts as not checked.

    `acknowledgements`: what the operator knows better than the facts. `cells_allowed_behind`: the
    names of cells that are trusted although none of their services reports, as where the only host
    of a small cell is dead. `without_ports`: leave out what ports request, even if an instance has
    ports that hold resources, as `heal_allocations --skip-port-allocations` does.
    """

    grace_seconds: int = 600
    acknowledgements: tuple[Acknowledgement, ...] = ()
    cells_allowed_behind: frozenset[str] = frozenset()
    without_ports: bool = False
    stuck_seconds: int = 6 * 3600
