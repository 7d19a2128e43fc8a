# SPDX-License-Identifier: Apache-2.0
"""Every way Placement says no: one class each, with fields instead of prose.

The words a client reads, the HTTP status and the error code are added once, in the API.
They are values, but not frozen: Python writes the traceback onto an exception that is raised.
"""

from dataclasses import dataclass


class PlacementError(Exception):
    """The request is understood and refused; nothing was changed."""


# Not there


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
    """A reshape brings inventories for a provider that does not exist."""

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


# Somebody else was first


@dataclass(unsafe_hash=True)
class StaleProvider(PlacementError):
    """The client saw an older generation of the provider."""

    uuid: str
    actual: int
    given: int


@dataclass(unsafe_hash=True)
class StaleConsumer(PlacementError):
    """The client saw another generation of the consumer; None means "does not exist"."""

    uuid: str
    actual: int | None
    given: int | None


@dataclass(unsafe_hash=True)
class ConcurrentUpdate(PlacementError):
    """Other writers kept winning, for as often as the transaction was started again."""


# It exists already


@dataclass(unsafe_hash=True)
class ProviderExists(PlacementError):
    """Another provider has this UUID or name; `field` says which of the two."""

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
    """Consumers still hold something of the provider."""

    uuid: str


@dataclass(unsafe_hash=True)
class ProviderHasChildren(PlacementError):
    """Other providers are below this one."""

    uuid: str


@dataclass(unsafe_hash=True)
class InventoryInUse(PlacementError):
    """Consumers still hold something of these classes of the provider."""

    provider: str
    resource_classes: tuple[str, ...]


@dataclass(unsafe_hash=True)
class ResourceClassInUse(PlacementError):
    """Some provider still has an inventory of the class."""

    name: str


@dataclass(unsafe_hash=True)
class TraitInUse(PlacementError):
    """Some provider still has the trait."""

    name: str


# It may not be done


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
    """A provider may not be created or changed like this; `action` is create or update."""

    name: str
    uuid: str
    action: str
    reason: str


@dataclass(unsafe_hash=True)
class BadCapacity(PlacementError):
    """More is reserved of an inventory than may be."""

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
    """The amount would bring usage above capacity, or further above it."""


@dataclass(unsafe_hash=True)
class ConstraintsViolated(NotAllocatable):
    """The amount is outside of min_unit and max_unit, or no multiple of step_size."""
