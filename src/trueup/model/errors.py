# SPDX-License-Identifier: Apache-2.0
"""Every reason for which Placement refuses a request: one class each, with fields.

The text, the HTTP status and the error code are added in one place, the API.
The classes are values, but not frozen: Python writes the traceback into an exception.
"""

from dataclasses import dataclass


class PlacementError(Exception):
    """The request is understood and refused; nothing was changed."""


# It does not exist


@dataclass(unsafe_hash=True)
class ProviderNotFound(PlacementError):
    """No provider has this UUID."""

    uuid: str


@dataclass(unsafe_hash=True)
class AllocationToUnknownProvider(PlacementError):
    """Allocations name a provider that does not exist."""

    uuid: str


@dataclass(unsafe_hash=True)
class ReshapeOfUnknownProvider(PlacementError):
    """A reshape has inventories for a provider that does not exist."""

    uuid: str


@dataclass(unsafe_hash=True)
class ResourceClassNotFound(PlacementError):
    """No resource class has this name."""

    name: str


@dataclass(unsafe_hash=True)
class TraitNotFound(PlacementError):
    """No trait has this name."""

    name: str


@dataclass(unsafe_hash=True)
class TraitsNotFound(PlacementError):
    """Some of the traits wanted for a provider do not exist."""

    names: tuple[str, ...]


@dataclass(unsafe_hash=True)
class InventoryNotFound(PlacementError):
    """The provider has no inventory of this class."""

    resource_class: str


@dataclass(unsafe_hash=True)
class NothingAllocated(PlacementError):
    """The consumer holds nothing, so there is nothing to delete."""

    consumer: str


# Another client was first


@dataclass(unsafe_hash=True)
class StaleProvider(PlacementError):
    """The generation of the provider is not the one that the client expects."""

    uuid: str
    actual: int
    given: int


@dataclass(unsafe_hash=True)
class StaleConsumer(PlacementError):
    """The generation of the consumer is not the expected one; None if it does not exist."""

    uuid: str
    actual: int | None
    given: int | None


@dataclass(unsafe_hash=True)
class ConcurrentUpdate(PlacementError):
    """Other writers were first in each attempt of the transaction."""


# It exists already


@dataclass(unsafe_hash=True)
class ProviderExists(PlacementError):
    """Another provider has this value in `field`, which is `uuid` or `name`."""

    field: str
    value: str


@dataclass(unsafe_hash=True)
class InventoryExists(PlacementError):
    """The provider already has an inventory of this class."""

    provider: str
    resource_class: str


@dataclass(unsafe_hash=True)
class ResourceClassExists(PlacementError):
    """A resource class has this name already."""

    name: str


# It is in use


@dataclass(unsafe_hash=True)
class ProviderHasAllocations(PlacementError):
    """Consumers have allocations of the provider."""

    uuid: str


@dataclass(unsafe_hash=True)
class ProviderHasChildren(PlacementError):
    """The provider is the parent of others."""

    uuid: str


@dataclass(unsafe_hash=True)
class InventoryInUse(PlacementError):
    """Consumers have allocations of these resource classes of the provider."""

    provider: str
    resource_classes: tuple[str, ...]


@dataclass(unsafe_hash=True)
class ResourceClassInUse(PlacementError):
    """A provider has an inventory of the class."""

    name: str


@dataclass(unsafe_hash=True)
class TraitInUse(PlacementError):
    """A provider has the trait."""

    name: str


# It is not allowed


@dataclass(unsafe_hash=True)
class StandardResourceClass(PlacementError):
    """Only custom resource classes may be changed or deleted."""

    name: str


@dataclass(unsafe_hash=True)
class StandardTrait(PlacementError):
    """Only custom traits may be deleted."""

    name: str


@dataclass(unsafe_hash=True)
class BadProvider(PlacementError):
    """A provider may not be created or updated like this; `action` is which of the two."""

    name: str
    uuid: str
    action: str
    reason: str


@dataclass(unsafe_hash=True)
class BadCapacity(PlacementError):
    """Too much of an inventory is reserved."""

    provider: str
    resource_class: str
    may_reserve_all: bool


# It does not fit


@dataclass(unsafe_hash=True)
class NotAllocatable(PlacementError):
    """The provider has no inventory that could be allocated like this."""

    provider: str
    resource_class: str


@dataclass(unsafe_hash=True)
class CapacityExceeded(NotAllocatable):
    """With the amount, usage would grow above the capacity, or further above it."""


@dataclass(unsafe_hash=True)
class ConstraintsViolated(NotAllocatable):
    """The amount is not between min_unit and max_unit, or not a multiple of step_size."""
