# SPDX-License-Identifier: Apache-2.0
"""A host with bandwidth providers, and an instance on it whose ports request bandwidth."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from tests.cli.nova_manage.twins import Twins
from trueup.lab.blueprint import Instance

_NAMES = UUID("6e6f7661-6d61-4e61-8765-706c6163656d")
EGRESS, INGRESS = "NET_BW_EGR_KILOBIT_PER_SEC", "NET_BW_IGR_KILOBIT_PER_SEC"
TRAITS = ["CUSTOM_PHYSNET_PHYSNET0", "CUSTOM_VNIC_TYPE_NORMAL"]
AMOUNTS = {EGRESS: 1000, INGRESS: 2000}
_MAX_UNIT = 2**31 - 1


def uuid_of(name: str) -> str:
    return str(uuid5(_NAMES, name))


@dataclass(frozen=True)
class Bandwidth:
    """The instance, and the bandwidth providers of its host by the name of their bridge."""

    twins: Twins
    instance: Instance

    def bridge(self, name: str) -> str:
        """The uuid of a bridge's provider, which is made if it is not there."""
        assert self.instance.host is not None
        host, placement = self.instance.host, self.twins.cloud.placement
        agent, bridge = uuid_of(f"{host.node} agent"), uuid_of(f"{host.node} {name}")
        for uuid, called, parent in (
            (agent, f"{host.node}:Open vSwitch agent", host.uuid),
            (bridge, f"{host.node}:Open vSwitch agent:{name}", agent),
        ):
            if not placement.get(f"/resource_providers?uuid={uuid}")["resource_providers"]:
                body = {"uuid": uuid, "name": called, "parent_provider_uuid": parent}
                placement.post("/resource_providers", body)
        for trait in TRAITS:
            placement.put(f"/traits/{trait}", {})
        self._put(bridge, "traits", TRAITS)
        stock = {"total": 10_000_000, "max_unit": _MAX_UNIT}
        self._put(bridge, "inventories", {EGRESS: stock, INGRESS: stock})
        return bridge

    def no_bridge(self, uuid: str) -> None:
        """Let a bridge give no bandwidth any more."""
        self._put(uuid, "inventories", {})

    def _put(self, uuid: str, part: str, content: Any) -> None:
        placement = self.twins.cloud.placement
        generation = placement.get(f"/resource_providers/{uuid}")["generation"]
        body = {"resource_provider_generation": generation, part: content}
        placement.put(f"/resource_providers/{uuid}/{part}", body)

    def ports(self, names: Iterable[str]) -> None:
        """Let the instance have these ports, whose binding profiles name no provider."""
        assert self.instance.host is not None
        self.twins.neutron.ports.clear()
        for name in names:
            group, uuid = uuid_of(f"group of {name}"), uuid_of(name)
            self.twins.neutron.ports[uuid] = {
                "id": uuid,
                "device_id": self.instance.uuid,
                "device_owner": "compute:nova",
                "project_id": self.instance.tenant.project_id,
                "binding:host_id": self.instance.host.name,
                "binding:vnic_type": "normal",
                "binding:vif_type": "ovs",
                "binding:profile": {},
                "resource_request": {
                    "request_groups": [{"id": group, "required": TRAITS, "resources": AMOUNTS}],
                    "same_subtree": [group],
                },
                "revision_number": 1,
            }
