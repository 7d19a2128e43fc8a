# SPDX-License-Identifier: Apache-2.0
"""The words of scenarios about ports and devices; see `reading`.

neutron                                         Neutron was asked; or `neutron silent`
port p1 of web NET_BW=100 type=direct           a port that requests this of one provider
port p2 of web NET_BW=100 traits=A,B host=h2    with traits, and bound on another host
port p3 of web NET_BW=100 named=nic older       its profile names a provider, in the older format
port p4 of web device-profile=smart-nic         Cyborg allocates its device
port p4 of web NET_BW=100 vif=binding_failed    or `unrevised`: Neutron gives no revision number
cached p1 of web                                Nova's network cache has it, with an allocation
assigned 0000:81:00.1 on h1 for web port=p1 interface=ens1
assigned 0000:82:00.0 on h1 for web class=CUSTOM_GPU provider=gpu
chosen nic for p1                               an operator chose this provider for a port
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from tests.scenarios.names import uuid_of
from trueup.reconcile.facts import (
    NEUTRON,
    ComputeNode,
    Instance,
    PciDevice,
    PciRequest,
    Port,
    PortRequestGroup,
    SourceStatus,
)


@dataclass
class Attachments:
    """The ports and devices of a draft."""

    status: SourceStatus | None = None
    ports: list[Port] = field(default_factory=list)
    devices: list[tuple[str, PciDevice]] = field(default_factory=list)  # with the host
    requests: dict[str, list[PciRequest]] = field(default_factory=dict)
    chosen: dict[str, tuple[str, ...]] = field(default_factory=dict)
    cached: dict[str, tuple[str, ...]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def neutron(self, silent: bool) -> None:
        self.status = SourceStatus(NEUTRON, not silent, 1, "it is down" if silent else "")

    def port(
        self, name: str, server: str, amounts: dict[str, int], said: Mapping[str, str]
    ) -> None:
        uuid, older = uuid_of(name), "older" in said
        group = uuid if older else uuid_of(f"group of {name}")
        self.names |= {group: f"group-of-{name}", uuid: name}
        named = uuid_of(said["named"]) if "named" in said else None
        allocation = (named if older else {group: named}) if named else None
        traits = tuple(filter(None, said.get("traits", "").split(",")))
        self.ports.append(
            Port(
                id=uuid,
                device=uuid_of(server),
                device_owner=said.get("owner", "compute:nova"),
                host=said.get("host", ""),
                vnic_type=said.get("type", "normal"),
                vif_type=said.get("vif", "ovs"),
                request_groups=(PortRequestGroup(group, traits, amounts),) if amounts else (),
                allocation={group: named} if named else None,
                profile={"allocation": allocation} if allocation else {},
                revision=None if "unrevised" in said else 7,
                device_profile=said.get("device-profile", ""),
            )
        )
        self.status = self.status or SourceStatus(NEUTRON, True, 1)

    def device(self, address: str, host: str, server: str, said: Mapping[str, str]) -> None:
        request = uuid_of(f"request of {address}")
        port, name = said.get("port"), said.get("class", "")
        self.requests.setdefault(uuid_of(server), []).append(
            PciRequest(
                request, 1, alias=None if port else "alias",
                requester=uuid_of(port) if port else None, specs=({"resource_class": name},),
            )
        )  # fmt: skip
        self.devices.append(
            (
                host,
                PciDevice(
                    "", 0, address, "8086", "10ed", "type-VF" if port else "type-PCI",
                    "allocated", uuid_of(server), request,
                    parent_interface=said.get("interface"),
                    provider=uuid_of(said["provider"]) if "provider" in said else None,
                ),
            )
        )  # fmt: skip

    def cache(self, port: str, server: str) -> None:
        self.names[uuid_of(port)] = port
        self.cached[uuid_of(server)] = (*self.cached.get(uuid_of(server), ()), uuid_of(port))

    def choose(self, provider: str, port: str) -> None:
        self.chosen[uuid_of(port)] = (*self.chosen.get(uuid_of(port), ()), provider)

    def of(self, instance: Instance) -> Instance:
        """The instance with the PCI requests of its devices, and with its cached ports."""
        asked = tuple(self.requests.get(instance.uuid, ()))
        if cached := self.cached.get(instance.uuid, ()):
            instance = replace(instance, ports_hold=True, ports_holding=cached)
        return replace(instance, pci_requests=asked) if asked else instance

    def on(self, nodes: list[ComputeNode]) -> Iterator[PciDevice]:
        """The devices, with the numbers of their compute nodes."""
        by_host = {node.host: node for node in nodes}
        for host, row in self.devices:
            node = by_host[host]
            yield replace(row, cell=node.cell, compute_node=node.number)
