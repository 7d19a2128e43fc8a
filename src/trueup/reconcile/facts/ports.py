# SPDX-License-Identifier: Apache-2.0
"""Facts from Neutron: ports that request resources, and the providers of their allocations."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# A port's `binding:vif_type` while no host has bound it.
_NOT_BOUND = frozenset({"unbound", "binding_failed"})


@dataclass(frozen=True, slots=True)
class NetworkAgent:
    """A network agent on a host; `alive`: it has reported lately."""

    id: str
    kind: str
    alive: bool


@dataclass(frozen=True, slots=True)
class PortRequestGroup:
    """One request group of a port's `resource_request`."""

    id: str
    required: tuple[str, ...]
    resources: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Port:
    """A port with its resource request, in either of Neutron's formats.

    `allocation` is the binding profile's: request group → provider uuid. In the older format a port
    has one group without a name, which gets the port's own id here. `named_groups` says that the
    format is the newer one.
    `profile` is the whole binding profile as Neutron gives it, `revision` the revision number.
    A port with a `device_profile` has a device that Cyborg allocates.
    """

    id: str
    device: str
    device_owner: str
    project: str = ""
    host: str = ""
    vnic_type: str = "normal"
    vif_type: str = ""
    request_groups: tuple[PortRequestGroup, ...] = ()
    same_subtree: tuple[str, ...] = ()
    allocation: Mapping[str, str] | None = None
    profile: Mapping[str, Any] = field(default_factory=dict)
    revision: int | None = None
    device_profile: str = ""
    named_groups: bool = False

    @property
    def of_instance(self) -> bool:
        """Whether Nova attached it: a trunk's subport requests nothing of Placement."""
        return self.device_owner.startswith("compute:")

    @property
    def pci_address(self) -> str:
        """The address of its device on the host, as Nova wrote it into the binding profile."""
        return str(self.profile.get("pci_slot") or "").lower()

    def bound_on(self, host: str | None) -> bool:
        """Whether it is bound on this host. A bound port without a host counts as well."""
        return self.vif_type not in _NOT_BOUND and self.host in ("", host)

    def profile_with(self, allocation: Mapping[str, str]) -> dict[str, Any]:
        """Its binding profile with this allocation, in the format of its resource request."""
        older = allocation.keys() == {self.id} and not self.named_groups
        return {**self.profile, "allocation": allocation[self.id] if older else dict(allocation)}
