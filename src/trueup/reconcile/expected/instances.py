# SPDX-License-Identifier: Apache-2.0
"""What an instance should hold: flavor, image, ports and devices put together, on its host."""

from collections.abc import Iterator
from dataclasses import dataclass

from trueup.reconcile.expected.devices import device_parts
from trueup.reconcile.expected.groups import flavor_groups
from trueup.reconcile.expected.host_providers import HostProviders, host_providers_of, parts_of
from trueup.reconcile.expected.parts import ExpectedAllocation, ExpectedPart, NotOurs, Unknown
from trueup.reconcile.expected.ports import port_parts
from trueup.reconcile.facts import Facts, Flavor, Instance, Migration


@dataclass(frozen=True, slots=True)
class Claim:
    """One consumer's share of an instance: which flavor it holds, and on which host."""

    consumer: str
    cell: str
    host: str | None
    node: str | None
    flavor: Flavor | None


def expected(instance: Instance, facts: Facts) -> tuple[ExpectedAllocation, ...]:
    """What the instance should hold, and while it moves, what its migration should hold.

    Nothing for an instance on no host. It says what Nova's own rules make of the facts; whether
    the instance is settled enough to act on that is for `residence` to say.
    """
    migration = facts.moving.get(instance.uuid)
    if migration is None:
        own = Claim(instance.uuid, instance.cell, instance.host, instance.node, instance.flavor)
        return (_of_claim(own, instance, facts),)
    if migration.kind == "evacuation":
        # Both hosts are the instance's own claims until the old one comes back and cleans up.
        return (ExpectedAllocation(instance.uuid, (Unknown("its evacuation is under way"),)),)
    return tuple(_of_claim(claim, instance, facts) for claim in _claims(migration, instance))


def expected_on(root: str, instance: Instance, facts: Facts) -> ExpectedAllocation:
    """What the instance should hold, were it settled on the host with this root provider."""
    return ExpectedAllocation(instance.uuid, tuple(_parts(instance.flavor, root, instance, facts)))


def _claims(migration: Migration, instance: Instance) -> tuple[Claim, Claim]:
    """The instance holds its new flavor on the target already, the migration its old one on the
    source, from the scheduler's decision until the move is confirmed (nova-facts).

    Which flavors a resize is between may not be told; once it is `finished`, the present one is
    the new one.
    """
    resize = migration.kind == "resize"
    begun = resize and migration.status != "finished"
    return (
        Claim(
            instance.uuid,
            migration.cell,
            migration.target_host,
            migration.target_node,
            instance.new_flavor or (None if begun else instance.flavor),
        ),
        Claim(
            migration.uuid,
            migration.cell,
            migration.source_host,
            migration.source_node,
            instance.old_flavor or (None if resize else instance.flavor),
        ),
    )


def _of_claim(claim: Claim, instance: Instance, facts: Facts) -> ExpectedAllocation:
    if claim.host is None or claim.node is None:
        moving = claim.consumer != instance.uuid or instance.uuid in facts.moving
        return ExpectedAllocation(
            claim.consumer, (Unknown("its host is not chosen"),) if moving else ()
        )
    nodes = facts.nodes_by_place.get((claim.cell, claim.host, claim.node), ())
    if len(nodes) != 1 or nodes[0].uuid not in facts.providers:
        unknown = Unknown(f"the provider of host {claim.host}, node {claim.node} is not known")
        return ExpectedAllocation(claim.consumer, (unknown,))
    root = facts.providers[nodes[0].uuid].root
    return ExpectedAllocation(claim.consumer, tuple(_parts(claim.flavor, root, instance, facts)))


def _parts(
    flavor: Flavor | None, root: str, instance: Instance, facts: Facts
) -> Iterator[ExpectedPart]:
    host = host_providers_of(root, facts)
    yield from _flavor_parts(flavor, instance, host)
    yield from device_parts(instance, host, facts)
    yield from _port_parts(instance, host, facts)


def _flavor_parts(
    flavor: Flavor | None, instance: Instance, host: HostProviders
) -> Iterator[ExpectedPart]:
    if flavor is None:
        yield Unknown("its flavor cannot be read")
        return
    # A host that counts no processors as dedicated was asked for shared ones instead (drift B.38).
    pinning = bool(host.having(["PCPU"])) or not host.having(["VCPU"])
    image = instance.image_properties
    if image is None and (host.having(["PCPU"]) or host.having(["MEM_ENCRYPTION_CONTEXT"])):
        yield Unknown("its image's properties are not told")
        return
    groups = flavor_groups(
        flavor, image or {}, volume_backed=instance.volume_backed, pinning=pinning
    )
    if isinstance(groups, Unknown):
        yield groups
        return
    yield from parts_of(groups, host, "flavor")
    if profile := flavor.extra_specs.get("accel:device_profile"):
        yield NotOurs(f"device profile {profile}", {}, "Cyborg")


def _port_parts(instance: Instance, host: HostProviders, facts: Facts) -> Iterator[ExpectedPart]:
    if not facts.ports_read:
        if instance.ports_hold:
            yield Unknown("its ports hold resources, and Neutron was not asked")
        return
    for port in facts.ports_by_device.get(instance.uuid, ()):
        yield from port_parts(port, host)
