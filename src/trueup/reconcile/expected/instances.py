# SPDX-License-Identifier: Apache-2.0
"""The expected allocation of an instance on its host: flavor, image, ports and devices."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trueup.reconcile.expected.devices import device_parts
from trueup.reconcile.expected.doubts import (
    REFUSED_REBUILD,
    ROOT_DISK,
    may_be_of_refused_rebuild,
    may_have_dedicated,
    root_is_volume,
)
from trueup.reconcile.expected.groups import Group, flavor_groups
from trueup.reconcile.expected.host_providers import HostProviders, host_providers_of, parts_of
from trueup.reconcile.expected.parts import (
    ExpectedAllocation,
    ExpectedPart,
    NotOurs,
    Share,
    Unknown,
)
from trueup.reconcile.expected.ports import (
    holder_of_port,
    port_parts,
    ports_of,
    requested_groups,
    unlisted_ports,
)
from trueup.reconcile.facts import PORT_CLASSES, Facts, Flavor, Instance, Migration
from trueup.reconcile.reasons import because

# The request groups of an instance depend on its flavor, the properties of its image, whether its
# root disk is a volume, and whether CPU policies request PCPU.
_Kind = tuple[Flavor, tuple[tuple[str, str], ...], bool, bool]


@dataclass(frozen=True, slots=True)
class FlavorClaim:
    """The flavor of an instance that one consumer holds, with the host."""

    consumer: str
    cell: str
    host: str | None
    node: str | None
    flavor: Flavor | None


def expected(instance: Instance, facts: Facts) -> tuple[ExpectedAllocation, ...]:
    """The expected allocations of the instance and, during a move, of its migration.

    Empty for an instance without a host. This applies Nova's own rules to the facts; `residence`
    decides whether the instance is settled, so that a defect may act on it.
    """
    migration = facts.moving.get(instance.uuid)
    if migration is None:
        own = FlavorClaim(
            instance.uuid, instance.cell, instance.host, instance.node, instance.flavor
        )
        return (_of_claim(own, instance, facts),)
    if migration.kind == "evacuation":
        # The instance itself holds both hosts until the old host returns and cleans up.
        return (ExpectedAllocation(instance.uuid, (Unknown(because("evacuation-in-progress")),)),)
    return tuple(_of_claim(claim, instance, facts) for claim in _claims(migration, instance))


def expected_on(root: str, instance: Instance, facts: Facts) -> ExpectedAllocation:
    """The expected allocation if the instance were settled on the host with this root provider."""
    return _on(root, instance.uuid, instance.flavor, instance, facts)


def expected_before_resize(
    root: str, instance: Instance, facts: Facts
) -> ExpectedAllocation | None:
    """As `expected_on`, with the flavor from before a resize; None if Nova does not store it."""
    if instance.old_flavor is None:
        return None
    return _on(root, instance.uuid, instance.old_flavor, instance, facts)


def _claims(migration: Migration, instance: Instance) -> tuple[FlavorClaim, FlavorClaim]:
    """The claims of an instance and of its migration.

    From the scheduler's decision until the move is confirmed, the instance holds its new flavor on
    the target, and the migration holds the old flavor on the source. The facts may lack the
    flavors of a resize; once it is `finished`, the current flavor is the new one.
    """
    resize = migration.kind == "resize"
    begun = resize and migration.status != "finished"
    return (
        FlavorClaim(
            instance.uuid,
            migration.cell,
            migration.target_host,
            migration.target_node,
            instance.new_flavor or (None if begun else instance.flavor),
        ),
        FlavorClaim(
            migration.uuid,
            migration.cell,
            migration.source_host,
            migration.source_node,
            instance.old_flavor or (None if resize else instance.flavor),
        ),
    )


def _of_claim(claim: FlavorClaim, instance: Instance, facts: Facts) -> ExpectedAllocation:
    if claim.host is None or claim.node is None:
        moving = claim.consumer != instance.uuid or instance.uuid in facts.moving
        return ExpectedAllocation(
            claim.consumer, (Unknown(because("host-not-chosen")),) if moving else ()
        )
    nodes = facts.nodes_by_place.get((claim.cell, claim.host, claim.node), ())
    if len(nodes) != 1 or nodes[0].uuid not in facts.providers:
        unknown = Unknown(because("provider-of-host-unknown", host=claim.host, node=claim.node))
        return ExpectedAllocation(claim.consumer, (unknown,))
    root = facts.providers[nodes[0].uuid].root
    return _on(root, claim.consumer, claim.flavor, instance, facts)


def _on(
    root: str, consumer: str, flavor: Flavor | None, instance: Instance, facts: Facts
) -> ExpectedAllocation:
    host = host_providers_of(root, facts)
    if flavor is None:
        own, other = because("flavor-unreadable"), because("flavor-before-resize-unknown")
        parts: list[ExpectedPart] = [Unknown(own if consumer == instance.uuid else other)]
    else:
        parts = _flavor_parts(consumer, flavor, instance, host, facts)
    parts += device_parts(instance, host, facts)
    parts += _port_parts(consumer, instance, host, facts)
    return ExpectedAllocation(consumer, tuple(parts))


def _flavor_parts(
    consumer: str, flavor: Flavor, instance: Instance, host: HostProviders, facts: Facts
) -> list[ExpectedPart]:
    image = instance.image_properties
    doubtful = not host.pinning and may_have_dedicated(consumer, flavor, instance, facts)
    pinning = host.pinning or doubtful
    encrypts = bool(host.having("MEM_ENCRYPTION_CONTEXT"))
    if image is None and (doubtful or host.having("PCPU") or encrypts):
        return [Unknown(because("image-unreadable"))]
    held = facts.consumers.get(consumer, {})
    by_volume = instance.volume_backed
    if by_volume is None:
        by_volume = root_is_volume(
            held,
            *(_groups(flavor, image or {}, volume, pinning, facts) for volume in (True, False)),
        )
    # If the root disk is in doubt: the amounts without it, which are certain.
    groups = _groups(flavor, image or {}, by_volume is not False, pinning, facts)
    if isinstance(groups, Unknown):
        return [groups]
    parts = parts_of(groups, host, "flavor")
    if by_volume is None:
        parts.append(ROOT_DISK)
    if may_be_of_refused_rebuild(held, flavor, image or {}, instance, encrypts):
        parts.append(REFUSED_REBUILD)
    if profile := flavor.extra_specs.get("accel:device_profile"):
        parts.append(NotOurs(f"device profile {profile}", {}, "Cyborg"))
    return parts


def _groups(
    flavor: Flavor, image: Mapping[str, str], volume_backed: bool, pinning: bool, facts: Facts
) -> tuple[Group, ...] | Unknown:
    """As `flavor_groups`. PERF: a cloud has few kinds of instances; each is computed once."""
    known = facts.once(_known_groups)
    kind = (flavor, tuple(image.items()), volume_backed, pinning)
    groups = known.get(kind)
    if groups is None:
        groups = flavor_groups(flavor, image, volume_backed=volume_backed, pinning=pinning)
        known[kind] = groups
    return groups


def _known_groups(_: Facts) -> dict[_Kind, tuple[Group, ...] | Unknown]:
    """The request groups that were already computed, by kind of instance."""
    return {}


def _port_parts(
    consumer: str, instance: Instance, host: HostProviders, facts: Facts
) -> Iterator[ExpectedPart]:
    if not facts.ports_read:
        # SAFETY: the provider of a network card may have moved to the tree of another host.
        holders = facts.once(_holders_of_ports)
        if instance.ports_hold or (holders and not holders.isdisjoint(_consumers(instance, facts))):
            unread = because("ports-not-read")
            yield Unknown(unread, frozenset({Share.PORTS}))
        return
    settled = instance.uuid not in facts.moving
    if unlisted := unlisted_ports(instance, facts):
        # SAFETY: a Neutron that was restored, or another region's, does not list them.
        words = because("port-not-in-neutron", port=unlisted[0])
        yield Unknown(words, frozenset({Share.PORTS}))
        return
    for port in ports_of(instance, facts):
        if holder := holder_of_port(port, facts):
            # SAFETY: a Neutron that was restored gives it to the server that had it before.
            elsewhere = because("port-of-another", port=port.id, instance=holder)
            yield Unknown(elsewhere, frozenset({Share.PORTS}))
            return
        if port.device_profile:
            yield NotOurs(f"port {port.id}: device profile {port.device_profile}", {}, "Cyborg")
            continue
        if settled and not port.bound_on(instance.host):
            unbound = because("port-not-bound", port=port.id, host=instance.host)
            yield Unknown(unbound, frozenset({Share.PORTS}))
            return
        if port.allocation and not port.request_groups:
            # SAFETY: a Neutron that has lost its QoS plugin shows no request of any port.
            unasked = because("port-requests-nothing", port=port.id)
            yield Unknown(unasked, frozenset({Share.PORTS}))
    held = facts.consumers.get(consumer, {})
    yield from port_parts(requested_groups(instance, host, facts, held))


def _holders_of_ports(facts: Facts) -> frozenset[str]:
    """The consumers that hold a resource class of ports. PERF: most clouds have none of them."""
    return frozenset(
        who
        for who, held in facts.consumers.items()
        if any(name.startswith(PORT_CLASSES) for row in held.values() for name in row)
    )


def _consumers(instance: Instance, facts: Facts) -> Iterator[str]:
    """The instance, and its migrations."""
    yield instance.uuid
    for move in facts.migrations_of.get(instance.uuid, ()):
        yield move.uuid
