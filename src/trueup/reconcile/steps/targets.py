# SPDX-License-Identifier: Apache-2.0
"""Targets: everything that a step can change, with their states, as frozen values of a plan.

One file in changes/ reads and writes each kind of target.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal

import msgspec

from trueup.reconcile.facts import Allocations

# A version for each part of a target, by uuid: a generation, a revision number, or a digest.
# None: the part does not exist.
Version = Mapping[str, int | str | None]


class AllocationsOf(msgspec.Struct, frozen=True, tag="allocations"):
    """All that these consumers hold. Several consumers are written at once or not at all."""

    consumers: tuple[str, ...]


class ProviderNode(msgspec.Struct, frozen=True, tag="provider"):
    """A resource provider itself: whether it exists, its name and its parent."""

    provider: str


class InventoriesOf(msgspec.Struct, frozen=True, tag="inventories"):
    """All inventories of a provider."""

    provider: str


class TraitsOf(msgspec.Struct, frozen=True, tag="traits"):
    """All traits of a provider."""

    provider: str


class AggregatesOf(msgspec.Struct, frozen=True, tag="aggregates"):
    """All aggregates of a provider."""

    provider: str


class Tree(msgspec.Struct, frozen=True, tag="tree"):
    """Inventories of several providers and the allocations of all their consumers: a reshape."""

    providers: tuple[str, ...]
    consumers: tuple[str, ...]


class PortBinding(msgspec.Struct, frozen=True, tag="port-binding"):
    """The binding profile of a Neutron port."""

    port: str


class ServiceRecord(msgspec.Struct, frozen=True, tag="compute-service"):
    """Nova's record of the compute service of a host: disabled, forced down, or deleted."""

    cell: str
    host: str


# What may be lost together with the definition of a domain: its running guest, the file of its
# firmware's variables, or the saved memory of its guest.
Discard = Literal["guest", "nvram", "managed-save"]


class DomainDefinition(msgspec.Struct, frozen=True, omit_defaults=True, tag="domain"):
    """Target: the definition of a libvirt domain on a host.

    `discards` is what a removal may lose. SAFETY: without "guest", a plan never
    removes the definition of a running guest. Disks are never removed.
    """

    host: str
    domain: str
    discards: tuple[Discard, ...] = ()


class WholeProvider(msgspec.Struct, frozen=True, tag="whole-provider"):
    """Target: whether a resource provider exists, with its inventories, traits and aggregates.

    Without `aggregates`, its aggregates do not matter: Nova removes a compute service's provider
    from them before it deletes the provider, and may fail in between.
    """

    provider: str
    aggregates: bool = True


Target = (
    AllocationsOf | ProviderNode | InventoriesOf | TraitsOf | AggregatesOf | Tree | PortBinding
    | ServiceRecord | DomainDefinition | WholeProvider
)  # fmt: skip


class Held(msgspec.Struct, frozen=True, tag="allocations"):
    """What each consumer holds; None: it holds nothing."""

    by_consumer: Mapping[str, Allocations | None]


class ProviderFields(msgspec.Struct, frozen=True, tag="provider"):
    """The name and the parent of a provider; a root has no parent."""

    name: str
    parent: str | None = None


class InventoryFields(msgspec.Struct, frozen=True):
    """One inventory, as Placement keeps it."""

    total: int
    reserved: int
    min_unit: int
    max_unit: int
    step_size: int
    allocation_ratio: float


class Inventories(msgspec.Struct, frozen=True, tag="inventories"):
    """A provider's inventories by resource class."""

    by_class: Mapping[str, InventoryFields]


class Traits(msgspec.Struct, frozen=True, tag="traits"):
    """A provider's traits, in order."""

    names: tuple[str, ...]


class Aggregates(msgspec.Struct, frozen=True, tag="aggregates"):
    """A provider's aggregates, in order."""

    uuids: tuple[str, ...]


class TreeContents(msgspec.Struct, frozen=True, tag="tree"):
    """Inventories by provider and class, and what each consumer holds."""

    inventories: Mapping[str, Mapping[str, InventoryFields]]
    by_consumer: Mapping[str, Allocations | None]


class Profile(msgspec.Struct, frozen=True, tag="port-binding"):
    """A port's binding profile."""

    content: Mapping[str, Any]


class ServiceFields(msgspec.Struct, frozen=True, tag="compute-service"):
    """What an operator may set of a compute service."""

    disabled: bool
    disabled_reason: str
    forced_down: bool


class DomainText(msgspec.Struct, frozen=True, tag="domain"):
    """A domain's inactive definition, as libvirt prints it."""

    xml: str

    @property
    def digest(self) -> str:
        """Its version, because libvirt keeps none."""
        return digest_of(self)


# Resource class → field → value, as in Placement's API (`total`, `allocation_ratio`, ...).
InventoryValues = Mapping[str, Mapping[str, int | float]]


class ProviderContents(msgspec.Struct, frozen=True, tag="whole-provider"):
    """A provider without allocations and children: when it is deleted, it has none."""

    name: str
    parent: str | None
    inventories: InventoryValues
    traits: tuple[str, ...]
    aggregates: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Its version. Not the generation: a plan first releases allocations, which raises it."""
        return digest_of(self)


State = (
    Held | ProviderFields | Inventories | Traits | Aggregates | TreeContents | Profile
    | ServiceFields | DomainText | ProviderContents
)  # fmt: skip


def digest(state: msgspec.Struct | None) -> str | None:
    """A digest of the state of a target; None: it does not exist."""
    return None if state is None else digest_of(state)


def digest_of(value: object) -> str:
    """A digest of the content of a value, in whatever order its mappings are."""
    return sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()


def parts_of(target: Target) -> tuple[str, ...]:
    """The subjects of a target, by uuid or name. The subjects of a reshape are its consumers."""
    match target:
        case AllocationsOf(consumers):
            return consumers
        case Tree(providers, consumers):
            return consumers or providers
        case ServiceRecord(_, host):
            return (host,)
        case PortBinding(uuid):
            return (uuid,)
        case DomainDefinition(host, uuid):
            # Several hosts may have a domain of one instance, with its uuid.
            return (f"{uuid}@{host}",)
    return (target.provider,)


def held_in(state: State | None) -> Mapping[str, Allocations | None]:
    """What consumers hold by a state; empty if the state is not about allocations."""
    return state.by_consumer if isinstance(state, Held | TreeContents) else {}
