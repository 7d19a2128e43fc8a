# SPDX-License-Identifier: Apache-2.0
"""What Neutron says: ports that ask for resources, and where they were given them."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PortRequestGroup:
    """One request group of a port's `resource_request`."""

    id: str
    required: tuple[str, ...]
    resources: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Port:
    """A port with its resource request, in either of Neutron's formats.

    `allocation` is the binding profile's: provider uuid by request group. In the older format,
    where a port has one group without a name, both are known by the port's own id.
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
