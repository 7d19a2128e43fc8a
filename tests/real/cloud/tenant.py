# SPDX-License-Identifier: Apache-2.0
"""What users and administrators do with instances, and what the ledger then holds of them."""

import itertools
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import openstack
from openstack.compute.v2.server import Server
from openstack.connection import Connection

from tests.real.cloud.catalog import IMAGE, FlavorSize
from tests.real.cloud.processes import wait_until

Resources = dict[str, int]
SECONDS_TO_BOOT = 120
_NUMBERS = itertools.count(1)


class InstanceInError(Exception):
    """An instance went to ERROR; the text is the fault that Nova shows."""


@dataclass(frozen=True)
class Tenant:
    """One user, over the APIs."""

    connection: Connection
    names: dict[str, str] = field(default_factory=dict)

    def boot(
        self, flavor: FlavorSize, host: str | None = None, ports: Sequence[str] = ()
    ) -> Server:
        """An instance that is ACTIVE."""
        return self.wait_for(self.ask_for(flavor, host=host, ports=ports), "ACTIVE")

    def ask_for(
        self,
        flavor: FlavorSize,
        host: str | None = None,
        ports: Sequence[str] = (),
        count: int = 1,
        group: str | None = None,
    ) -> Server:
        """Ask for instances without waiting for them; the first of them."""
        chosen: dict[str, object] = {"host": host} if host else {}
        if group:
            chosen["scheduler_hints"] = {"group": group}
        return self.connection.compute.create_server(
            name=f"instance{next(_NUMBERS)}",
            flavor_id=self._flavor(flavor),
            image_id=self._image(),
            networks=[{"port": port} for port in ports] or "none",
            min_count=count,
            max_count=count,
            **chosen,
        )

    def wait_for(self, server: Server, *states: str, host: str | None = None) -> Server:
        """The instance when it is in one of these states, and no task is under way.

        `host`: and when Nova has it there.
        """
        seen = [server]

        def arrived() -> bool:
            seen[0] = self.connection.compute.get_server(server.id)
            if seen[0].status == "ERROR" and "ERROR" not in states:
                raise InstanceInError(f"{server.id}: {seen[0].fault}")
            there = host is None or seen[0].compute_host == host
            return there and seen[0].status in states and seen[0].task_state is None

        wait_until(arrived, f"{server.id} is {' or '.join(states)}", SECONDS_TO_BOOT)
        return seen[0]

    def resize(self, server: Server, flavor: FlavorSize) -> Server:
        """The instance when the resize waits for its confirmation."""
        self.connection.compute.resize_server(server, self._flavor(flavor))
        return self.wait_for(server, "VERIFY_RESIZE")

    def confirm(self, server: Server) -> Server:
        self.connection.compute.confirm_server_resize(server)
        return self.wait_for(server, "ACTIVE", "SHUTOFF")

    def evacuate(self, server: Server, host: str) -> Server:
        """The instance on another host. Since compute API 2.95 it stays stopped there."""
        self.connection.compute.evacuate_server(server, host=host)
        # In between it is ACTIVE for a moment, before Nova stops it. Then it gets its new host.
        return self.wait_for(server, "SHUTOFF", host=host)

    def delete(self, *servers: Server) -> None:
        for server in servers:
            self.connection.compute.delete_server(server, ignore_missing=True)
        for server in servers:
            wait_until(lambda one=server: self._is_gone(one), f"{server.id} is gone")

    def _is_gone(self, server: Server) -> bool:
        try:
            self.connection.compute.get_server(server.id)
        except openstack.exceptions.NotFoundException:
            return True
        return False

    def _flavor(self, flavor: FlavorSize) -> str:
        if flavor.name not in self.names:
            found = self.connection.compute.find_flavor(flavor.name, ignore_missing=False)
            self.names[flavor.name] = found.id
        return self.names[flavor.name]

    def _image(self) -> str:
        if IMAGE not in self.names:
            self.names[IMAGE] = self.connection.image.find_image(IMAGE, ignore_missing=False).id
        return self.names[IMAGE]


@dataclass(frozen=True)
class Ledger:
    """What Placement says over its API, by the names of providers."""

    connection: Connection

    def held_by(self, consumer: str) -> dict[str, Resources]:
        """Provider's name → resource class → amount."""
        found = self.allocations(consumer)["allocations"]
        names = {one.id: one.name for one in self.connection.placement.resource_providers()}
        return {names[uuid]: held["resources"] for uuid, held in found.items()}

    def allocations(self, consumer: str) -> dict:
        """Placement's own document about a consumer."""
        return self._get(f"/allocations/{consumer}").json()

    def replace(self, consumer: str, allocations: Mapping[str, Resources]) -> None:
        """Write what a consumer holds, as a mistaken administrator would."""
        before = self.allocations(consumer)
        held = {self.uuid_of(name): {"resources": dict(row)} for name, row in allocations.items()}
        document = {
            "allocations": held,
            "project_id": before["project_id"],
            "user_id": before["user_id"],
            "consumer_generation": before["consumer_generation"],
            "consumer_type": "INSTANCE",
        }
        self.connection.placement.put(
            f"/allocations/{consumer}", json=document, microversion="1.39"
        ).raise_for_status()

    def claim(
        self, consumer: str, provider: str, resources: Resources, kind: str = "RESERVATION"
    ) -> None:
        """A consumer that holds nothing takes resources of a provider."""
        owner = str(uuid.uuid4())
        document = {
            "allocations": {self.uuid_of(provider): {"resources": resources}},
            "project_id": owner,
            "user_id": owner,
            "consumer_generation": None,
            "consumer_type": kind,
        }
        self.connection.placement.put(
            f"/allocations/{consumer}", json=document, microversion="1.39"
        ).raise_for_status()

    def forget(self, consumer: str) -> None:
        """Take away all that a consumer holds."""
        self.connection.placement.delete(f"/allocations/{consumer}").raise_for_status()

    def uuid_of(self, provider: str) -> str:
        [found] = self.connection.placement.resource_providers(name=provider)
        return found.id

    def names(self) -> set[str]:
        """Of all providers."""
        return {one.name for one in self.connection.placement.resource_providers()}

    def inventories(self, provider: str) -> dict[str, dict[str, int]]:
        found = self._get(f"/resource_providers/{self.uuid_of(provider)}/inventories")
        return found.json()["inventories"]

    def _get(self, path: str):
        answer = self.connection.placement.get(path, microversion="1.39")
        answer.raise_for_status()
        return answer
