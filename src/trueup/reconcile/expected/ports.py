# SPDX-License-Identifier: Apache-2.0
"""Ports: the providers of the bandwidth and packet rate of an instance's ports. Pure.

Nova's scheduler chose a provider for each request group of a port, and wrote it into the port's
binding profile. If the profile is lost, the scheduler's candidates are possible: the providers of
the host's tree with the requested classes and traits. If there are several, the physical function
of the port's device decides: the provider of a function is named `host:agent:interface`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from trueup.reconcile.expected.host_providers import HostProviders, host_providers_of, on_one_of
from trueup.reconcile.expected.interfaces import interface_of_provider, interfaces_of
from trueup.reconcile.expected.parts import ExpectedPart
from trueup.reconcile.facts import (
    PORT_TRAITS,
    Amounts,
    Facts,
    Instance,
    Port,
    PortRequestGroup,
    Provider,
)

_Left = dict[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class RequestedGroup:
    """A request group of a port, and the providers of the host that may give it.

    One provider is certain; several are ambiguous; with none, no provider suits.
    """

    port: Port
    group: PortRequestGroup
    providers: tuple[str, ...]

    @property
    def named(self) -> str | None:
        """The provider that the port's binding profile names."""
        return (self.port.allocation or {}).get(self.group.id)


def requested_groups_on(
    root: str, instance: Instance, facts: Facts, held: Amounts
) -> tuple[RequestedGroup, ...]:
    """As `requested_groups`, on the host with this root provider."""
    return requested_groups(instance, host_providers_of(root, facts), facts, held)


def requested_groups(
    instance: Instance, host: HostProviders, facts: Facts, held: Amounts
) -> tuple[RequestedGroup, ...]:
    """The request groups of the instance's ports, with their providers on this host.

    `held` are the consumer's allocations. A provider in both the profile and the allocations is
    right. Else the possible providers are narrowed to those in the allocations or the profile.
    """
    ports = ports_of(instance, facts)
    if not ports:
        return ()
    left = {(uuid, name): amount for uuid, row in held.items() for name, amount in row.items()}
    here = {row.uuid for row in host.tree}
    certain: dict[tuple[str, str], RequestedGroup] = {}
    groups = [RequestedGroup(port, group, ()) for port in ports for group in port.request_groups]
    for requested in groups:
        if requested.named in here and _take(left, requested.named, requested.group):
            certain[_key(requested)] = RequestedGroup(
                requested.port, requested.group, (requested.named,)
            )
    for requested in groups:
        if _key(requested) not in certain:
            suitable = suitable_providers(requested.port, requested.group, instance, host, facts)
            providers = _narrowed(requested, suitable, left)
            if len(providers) == 1:
                _take(left, providers[0], requested.group)
            certain[_key(requested)] = RequestedGroup(requested.port, requested.group, providers)
    return tuple(certain[_key(requested)] for requested in groups)


def ports_of(instance: Instance, facts: Facts) -> tuple[Port, ...]:
    """The ports that Nova attached to the instance and that request resources, or once did."""
    return tuple(port for port in facts.ports_by_device.get(instance.uuid, ()) if port.of_instance)


def unlisted_ports(instance: Instance, facts: Facts) -> tuple[str, ...]:
    """The ports that hold resources, or may, according to Nova's network cache, but that Neutron
    does not list as ports of the instance with a request or an allocation.
    """
    ports = facts.ports_by_device.get(instance.uuid, ())
    listed = {
        port.id for port in ports if port.request_groups or port.allocation or port.device_profile
    }
    return tuple(port for port in instance.ports_holding if port not in listed)


def holder_of_port(port: Port, facts: Facts) -> str | None:
    """Another instance that holds a port's resources, by Nova's network cache; or None."""
    holder = facts.once(_holders_by_port).get(port.id)
    return None if holder == port.device else holder


def _holders_by_port(facts: Facts) -> dict[str, str]:
    """The instance that holds each port's resources, by Nova's network caches."""
    read = {port: row.uuid for row in facts.alive.values() for port in row.ports_holding}
    return {**facts.port_holders, **read}


def port_parts(groups: Iterable[RequestedGroup]) -> Iterator[ExpectedPart]:
    """One part for each request group."""
    for requested in groups:
        yield on_one_of(f"port {requested.port.id}", requested.group.resources, requested.providers)


def suitable_providers(
    port: Port, group: PortRequestGroup, instance: Instance, host: HostProviders, facts: Facts
) -> tuple[str, ...]:
    """The providers of the host from which a request group may be allocated, in order.

    These are the scheduler's candidates in the host's tree, whether or not they have room now,
    limited to those of the port's device and to those that an operator has chosen.
    """
    interfaces = interfaces_of(port, instance, host, facts)
    chosen = facts.chosen_providers.get(port.id, ())
    suitable = {
        request_group.id: [
            row for row in host.tree if _suits(row, request_group) and _is_of(row, interfaces)
        ]
        for request_group in port.request_groups
    }
    for rows in suitable.values():
        rows[:] = [row for row in rows if {row.uuid, row.name} & set(chosen)] or rows
    others = [
        rows
        for group_id, rows in suitable.items()
        if group_id != group.id and {group_id, group.id} <= set(port.same_subtree)
    ]
    parents = {row.uuid: row.parent for row in host.tree}
    return tuple(
        row.uuid
        for row in suitable[group.id]
        if all(any(_in_line(row.uuid, other.uuid, parents) for other in rows) for rows in others)
    )


def _suits(provider: Provider, group: PortRequestGroup) -> bool:
    """Whether a provider has the classes and traits. Traits that were not read exclude nothing."""
    required = {name for name in group.required if name.startswith(PORT_TRAITS)}
    if provider.traits is not None and not provider.traits >= required:
        return False
    stocks = provider.inventories
    return all(
        name in stocks and stocks[name].capacity >= amount
        for name, amount in group.resources.items()
    )


def _is_of(provider: Provider, interfaces: frozenset[str]) -> bool:
    """Whether a provider may belong to one of these interfaces; any may if none is known."""
    interface = interface_of_provider(provider.name)
    return not interfaces or interface is None or interface in interfaces


def _in_line(one: str, other: str, parents: dict[str, str | None]) -> bool:
    """Whether one of two providers is the other, or above it."""
    return one in _upwards(other, parents) or other in _upwards(one, parents)


def _upwards(uuid: str | None, parents: dict[str, str | None]) -> Iterator[str]:
    while uuid is not None:
        yield uuid
        uuid = parents.get(uuid)


def _narrowed(one: RequestedGroup, suitable: tuple[str, ...], left: _Left) -> tuple[str, ...]:
    """The suitable providers in the allocations or the profile; without any, all suitable ones."""
    held = tuple(uuid for uuid in suitable if _fits(left, uuid, one.group))
    named = (one.named,) if one.named in suitable and one.named is not None else ()
    return tuple(dict.fromkeys((*named, *held))) or suitable


def _fits(left: _Left, uuid: str, group: PortRequestGroup) -> bool:
    return all(left.get((uuid, name), 0) >= amount for name, amount in group.resources.items())


def _take(left: _Left, uuid: str | None, group: PortRequestGroup) -> bool:
    """Take a group from the amounts left on a provider, if they suffice."""
    if uuid is None or not _fits(left, uuid, group):
        return False
    for name, amount in group.resources.items():
        left[uuid, name] -= amount
    return True


def _key(one: RequestedGroup) -> tuple[str, str]:
    return one.port.id, one.group.id
