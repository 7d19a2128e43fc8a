# SPDX-License-Identifier: Apache-2.0
"""Audit options: what an operator may set about how careful an audit is."""

from dataclasses import dataclass

from trueup.reconcile.verdicts.acknowledgements import Acknowledgement


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """`grace_seconds`: for how long after a deletion its allocation is left to nova-compute.

    `stuck_seconds`: for how long something may be under way with an instance before it could not
    be checked.

    `acknowledgements`: what the operator knows better than the facts. `cells_allowed_behind`: names
    of cells that are trusted although none of their services reports, as where the only host of a
    small cell is dead. `without_ports`: what ports request is left out, although an instance has
    ports that hold resources, as `heal_allocations --skip-port-allocations` asks.
    """

    grace_seconds: int = 600
    acknowledgements: tuple[Acknowledgement, ...] = ()
    cells_allowed_behind: frozenset[str] = frozenset()
    without_ports: bool = False
    stuck_seconds: int = 6 * 3600
