# SPDX-License-Identifier: Apache-2.0
"""Facts from Placement: providers, and the allocations of consumers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite

# provider uuid → resource class → amount
Amounts = Mapping[str, Mapping[str, int]]
# The traits by which providers are judged: Nova made the provider, it is a compute node's, its
# compute service is disabled, it is a PCI device of Nova's, its device is for one use only.
OWNER_TRAIT, NODE_TRAIT = "OWNER_NOVA", "COMPUTE_NODE"
DISABLED_TRAIT = "COMPUTE_STATUS_DISABLED"
PCI_TRAIT, ONE_USE_TRAIT = "COMPUTE_MANAGED_PCI_DEVICE", "HW_PCI_ONE_TIME_USE"
JUDGED_TRAITS = (OWNER_TRAIT, NODE_TRAIT, DISABLED_TRAIT, PCI_TRAIT, ONE_USE_TRAIT)
# Neutron's agents mark their providers with these traits, and ports require them: physical networks
# and kinds of ports. Every trait with one of these prefixes is read.
PORT_TRAITS = ("CUSTOM_PHYSNET_", "CUSTOM_VNIC_TYPE_")
# The prefix of the resource classes of ports: bandwidth and packet rate.
PORT_CLASSES = "NET_"
# The `max_unit` of an inventory that was made without one.
UNLIMITED = 0x7FFFFFFF

_PCI_ADDRESS = re.compile(r"[0-9A-F]{4}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-7]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Inventory:
    """A provider's inventory of one resource class.

    One allocation may take from `min_unit` to `max_unit`, in multiples of `step_size`.
    """

    total: int
    reserved: int
    allocation_ratio: float
    min_unit: int = 1
    max_unit: int = UNLIMITED
    step_size: int = 1

    @property
    def capacity(self) -> int:
        amount = (self.total - self.reserved) * self.allocation_ratio
        return int(amount) if isfinite(amount) else UNLIMITED

    def allows(self, amount: int) -> bool:
        """Whether Placement accepts this amount in one allocation, if there is room."""
        step = max(self.step_size, 1)  # a row that was written by hand may have 0
        return self.min_unit <= amount <= self.max_unit and amount % step == 0


@dataclass(frozen=True, slots=True)
class Provider:
    """A resource provider, with its inventories by resource class.

    `parent` is None for a root. A sharing provider `shares_with` the trees of these roots, with
    which it has an aggregate in common. `traits` and `aggregates` (their uuids) are None where
    they were not read. For a whole cloud that is read over Placement's API, they contain only
    JUDGED_TRAITS and Nova's aggregates: reading all takes two more requests for each provider.
    """

    uuid: str
    name: str
    generation: int
    root: str
    inventories: Mapping[str, Inventory]
    sharing: bool = False
    parent: str | None = None
    shares_with: frozenset[str] = frozenset()
    traits: frozenset[str] | None = None
    aggregates: frozenset[str] | None = None


def pci_address(child: Provider, root: Provider) -> str | None:
    """The address of the PCI device that Nova made this child for, in capital letters.

    Nova names it HOST_ADDRESS, and marks it with a trait; Cyborg names its children in the same
    way. Where traits were not read, the name decides.
    """
    start, address = child.name[: len(root.name) + 1], child.name[len(root.name) + 1 :]
    is_marked = child.traits is None or PCI_TRAIT in child.traits
    if not is_marked or start != f"{root.name}_":
        return None
    return address.upper() if _PCI_ADDRESS.fullmatch(address) else None


def within_trees(providers: Mapping[str, Provider], roots: frozenset[str]) -> dict[str, Provider]:
    """The providers of these trees, and the providers that share with them, by uuid.

    `shares_with` is reduced to these trees.
    """
    kept: dict[str, Provider] = {}
    for uuid, row in providers.items():
        shares_with = row.shares_with & roots
        if row.root in roots or shares_with:
            kept[uuid] = replace(row, shares_with=shares_with) if row.sharing else row
    return kept


@dataclass(frozen=True, slots=True)
class Owner:
    """The project and the user of a consumer in Placement; empty if their row is missing.

    The consumer's type is left out, because Placement before 1.38 has none.
    """

    project: str
    user: str


@dataclass(frozen=True, slots=True)
class Allocations:
    """All allocations of one consumer, with its owner.

    `consumer_type` is None if Placement has none (`unknown` in its API).
    """

    amounts: Amounts
    project: str
    user: str
    consumer_type: str | None = None


@dataclass(frozen=True, slots=True)
class Holding:
    """A consumer as Placement gives it: its allocations (None: it holds nothing) and generation."""

    allocations: Allocations | None
    generation: int | None
