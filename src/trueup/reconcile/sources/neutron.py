# SPDX-License-Identifier: Apache-2.0
"""Neutron over its API: the ports that ask for resources. Read-only."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from keystoneauth1 import exceptions
from keystoneauth1.adapter import Adapter

from trueup.reconcile.facts import NEUTRON, Port, PortRequestGroup
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.http import checked, sent, understood

PORTS_IN_PAGE = 1000
# A request with more of them is longer than what some servers take.
DEVICES_IN_REQUEST = 100
# PERF: a port's whole document is ten times as long; its fields are all that Neutron then reads.
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
)
Counted = Callable[[int], None]


class Neutron:
    """A client of one Neutron. Every method raises Unreachable or AccessDenied."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    def offered(self) -> bool:
        """Whether the catalog has a Neutron; one that cannot be read is for `ports` to say."""
        try:
            return self._adapter.get_endpoint() is not None
        except exceptions.ClientException:
            return True

    def ports(
        self, counted: Counted = lambda _: None, devices: Iterable[str] | None = None
    ) -> tuple[Port, ...]:
        """The ports of instances that ask for resources, or were given some.

        With `devices` only of these instances.

        Without administrator's rights Neutron leaves the requests out; then nothing is said.
        """
        found: list[Port] = []
        for seen, row in enumerate(self._of(devices), 1):
            if "resource_request" not in row and "binding:host_id" not in row:
                raise Unreachable(NEUTRON, "it hides bindings from us: administrators see them")
            port = parse_port(row)
            if port.request_groups or port.allocation:
                found.append(port)
            if seen % PORTS_IN_PAGE == 0:
                counted(seen)
        return tuple(found)

    def _of(self, devices: Iterable[str] | None) -> Iterator[Mapping[str, Any]]:
        if devices is None:
            yield from self._rows("")
            return
        wanted = sorted(devices)
        for start in range(0, len(wanted), DEVICES_IN_REQUEST):
            some = wanted[start : start + DEVICES_IN_REQUEST]
            yield from self._rows("".join(f"&device_id={quote(one)}" for one in some))

    def _rows(self, chosen: str) -> Iterator[Mapping[str, Any]]:
        fields = "&".join(f"fields={name}" for name in FIELDS)
        first = f"/v2.0/ports?{fields}&limit={PORTS_IN_PAGE}&sort_key=id&sort_dir=asc{chosen}"
        marker = ""
        while True:
            answer = checked(NEUTRON, sent(NEUTRON, self._adapter, "GET", first + marker))
            with understood(NEUTRON):
                rows = answer["ports"]
                yield from rows
                # A Neutron that does not page gives everything at once, however long.
                if len(rows) != PORTS_IN_PAGE:
                    return
                marker = f"&marker={rows[-1]['id']}"


def parse_port(row: Mapping[str, Any]) -> Port:
    """A port from Neutron's document of it. Raises Unreachable when it is none."""
    with understood(NEUTRON):
        profile = row.get("binding:profile") or {}
        allocation = profile.get("allocation")
        # Before Xena a port asked for one group without a name, and named one provider.
        if isinstance(allocation, str):
            allocation = {row["id"]: allocation}
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
            allocation=allocation or None,
        )


def _groups(request: Mapping[str, Any], port: str) -> Iterator[PortRequestGroup]:
    """Both formats: a list of groups, or the one group itself."""
    groups = request.get("request_groups")
    if groups is None:
        groups = [{"id": port, **request}] if request.get("resources") else []
    for group in groups:
        yield PortRequestGroup(
            id=group["id"],
            required=tuple(group.get("required") or ()),
            resources={str(name): int(amount) for name, amount in group["resources"].items()},
        )
