# SPDX-License-Identifier: Apache-2.0
"""Neutron over its API: ports that request resources, and agents. It writes binding profiles."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from keystoneauth1 import exceptions
from keystoneauth1.adapter import Adapter

from trueup.reconcile.facts import NEUTRON, NetworkAgent, Port, PortRequestGroup
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.http import document_of, send_request, well_formed

PORTS_IN_PAGE = 1000
# With more devices, the URL is longer than some servers accept.
DEVICES_IN_REQUEST = 100
# PERF: a port's complete document is ten times as long. Neutron reads only the requested fields.
FIELDS = (
    "id",
    "device_id",
    "device_owner",
    "project_id",
    "binding:host_id",
    "binding:vnic_type",
    "binding:vif_type",
    "binding:profile",
    "resource_request",
    "device_profile",
    "revision_number",
)
Counted = Callable[[int], None]


class Neutron:
    """A client of one Neutron. Every method raises Unreachable or AccessDenied."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    def offered(self) -> bool:
        """Whether the catalog has Neutron. True if it is unreadable: then `ports` raises."""
        try:
            return self._adapter.get_endpoint() is not None
        except exceptions.ClientException:
            return True

    def ports(
        self, counted: Counted = lambda _: None, devices: Iterable[str] | None = None
    ) -> tuple[Port, ...]:
        """The ports of instances that request resources or a device, or have an allocation.

        With `devices`, only the ports of these instances. Raises Unreachable without
        administrator's rights, because Neutron then omits the requests.
        """
        found: list[Port] = []
        for seen, port in enumerate(map(_shown, self._rows_of("device_id", devices)), 1):
            if port.request_groups or port.allocation or port.device_profile:
                found.append(port)
            if seen % PORTS_IN_PAGE == 0:
                counted(seen)
        return tuple(found)

    def ports_named(self, uuids: Iterable[str]) -> tuple[Port, ...]:
        """These ports, whatever they request; raises as `ports`."""
        return tuple(map(_shown, self._rows_of("id", uuids)))

    def listed(self, ports: Iterable[str]) -> frozenset[tuple[str, str]]:
        """These ports, by id or by MAC address, that are there: each with its instance."""
        every = frozenset(ports)
        addresses = {name for name in every if ":" in name}
        return frozenset(
            (port["device_id"], name)
            for key, names in (("id", every - addresses), ("mac_address", addresses))
            for port in self._rows_of(key, names, ("id", "mac_address", "device_id"))
            if (name := str(port[key]).lower()) in names
        )

    def lists_any(self) -> bool:
        """Whether Neutron lists any port at all."""
        path = "/v2.0/ports?fields=id&limit=1"
        answer = document_of(NEUTRON, send_request(NEUTRON, self._adapter, "GET", path))
        with well_formed(NEUTRON):
            return bool(answer["ports"])

    def port(self, uuid: str) -> Mapping[str, Any] | None:
        """Neutron's document of one port; None: there is no such port."""
        path = f"/v2.0/ports/{quote(uuid)}?fields=binding:profile&fields=revision_number"
        response = send_request(NEUTRON, self._adapter, "GET", path)
        if response.status_code == 404:
            return None
        answer = document_of(NEUTRON, response)
        with well_formed(NEUTRON):
            row: Mapping[str, Any] = answer["port"]
        return row

    def set_profile(self, uuid: str, profile: Mapping[str, Any], revision: int | str | None) -> Any:
        """Replace a port's binding profile if it still has this revision; return the response."""
        return send_request(
            NEUTRON,
            self._adapter,
            "PUT",
            f"/v2.0/ports/{quote(uuid)}",
            json={"port": {"binding:profile": dict(profile)}},
            headers={"If-Match": f"revision_number={revision}"},
        )

    def agents(self, host: str) -> tuple[NetworkAgent, ...]:
        """The network agents of a host."""
        path = f"/v2.0/agents?host={quote(host)}"
        answer = document_of(NEUTRON, send_request(NEUTRON, self._adapter, "GET", path))
        with well_formed(NEUTRON):
            return tuple(
                NetworkAgent(row["id"], row["agent_type"], bool(row["alive"]))
                for row in answer["agents"]
                if row["host"] == host
            )

    def _rows_of(
        self, key: str, values: Iterable[str] | None, fields: Iterable[str] = FIELDS
    ) -> Iterator[Mapping[str, Any]]:
        """The ports with one of these values; None: all ports."""
        if values is None:
            yield from self._rows("", fields)
            return
        wanted = sorted(values)
        for start in range(0, len(wanted), DEVICES_IN_REQUEST):
            some = wanted[start : start + DEVICES_IN_REQUEST]
            yield from self._rows("".join(f"&{key}={quote(value)}" for value in some), fields)

    def _rows(self, chosen: str, fields: Iterable[str]) -> Iterator[Mapping[str, Any]]:
        asked = "&".join(f"fields={name}" for name in fields)
        first = f"/v2.0/ports?{asked}&limit={PORTS_IN_PAGE}&sort_key=id&sort_dir=asc{chosen}"
        marker = ""
        while True:
            answer = document_of(
                NEUTRON, send_request(NEUTRON, self._adapter, "GET", first + marker)
            )
            with well_formed(NEUTRON):
                rows = answer["ports"]
                yield from rows
                # A Neutron without pagination returns everything at once.
                if len(rows) != PORTS_IN_PAGE:
                    return
                marker = f"&marker={rows[-1]['id']}"


def _shown(row: Mapping[str, Any]) -> Port:
    """A port that is shown as to an administrator. Raises Unreachable if it is not."""
    if "resource_request" not in row and "binding:host_id" not in row:
        raise Unreachable(
            NEUTRON, "it does not show port bindings: use an administrator's credentials"
        )
    return parse_port(row)


def parse_port(row: Mapping[str, Any]) -> Port:
    """A port from Neutron's document. Raises Unreachable if it is not the document of a port."""
    with well_formed(NEUTRON):
        profile = row.get("binding:profile") or {}
        request = row.get("resource_request") or {}
        return Port(
            id=row["id"],
            device=row["device_id"] or "",
            device_owner=row["device_owner"] or "",
            project=row.get("project_id") or "",
            host=row.get("binding:host_id") or "",
            vnic_type=row.get("binding:vnic_type") or "normal",
            vif_type=row.get("binding:vif_type") or "",
            request_groups=tuple(_groups(request, row["id"])),
            same_subtree=tuple(request.get("same_subtree") or ()),
            allocation=allocation_in(profile, row["id"]),
            profile=profile,
            revision=row.get("revision_number"),
            device_profile=row.get("device_profile") or "",
            named_groups="request_groups" in request,
        )


def allocation_in(profile: Mapping[str, Any], port: str) -> Mapping[str, str] | None:
    """The allocation in a binding profile: request group → provider."""
    allocation = profile.get("allocation")
    # Before Xena a port requested one group without an id, and its profile named one provider.
    return {port: allocation} if allocation and isinstance(allocation, str) else allocation or None


def _groups(request: Mapping[str, Any], port: str) -> Iterator[PortRequestGroup]:
    """The request groups, from either format: a list of groups, or one group itself."""
    groups = request.get("request_groups")
    if groups is None:
        groups = [{"id": port, **request}] if request.get("resources") else []
    for group in groups:
        yield PortRequestGroup(
            id=group["id"],
            required=tuple(group.get("required") or ()),
            resources={str(name): int(amount) for name, amount in group["resources"].items()},
        )
