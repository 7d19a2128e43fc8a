# SPDX-License-Identifier: Apache-2.0
"""Doubts about a flavor's amounts: inferred from the allocations where facts are missing."""

from collections.abc import Mapping, Sequence

from trueup.reconcile.expected.cpus import dedicated_cpus, is_true
from trueup.reconcile.expected.groups import Group
from trueup.reconcile.expected.parts import Share, Unknown, held_of
from trueup.reconcile.facts import Amounts, Facts, Flavor, Instance
from trueup.reconcile.reasons import because

_DISK, _ENCRYPTION = "DISK_GB", "MEM_ENCRYPTION_CONTEXT"
_OF_HOST = frozenset({Share.HOST})
ROOT_DISK = Unknown(because("root-disk-unknown"), _OF_HOST)
REFUSED_REBUILD = Unknown(because("rebuild-refused"), _OF_HOST)


def root_is_volume(
    held: Amounts, with_volume: Sequence[Group] | Unknown, with_disk: Sequence[Group] | Unknown
) -> bool | None:
    """Whether a consumer with these request groups holds no root disk; None if that is not clear.

    Nova's API does not show it. SAFETY: a consumer without allocations decides nothing.
    """
    if isinstance(with_volume, Unknown) or isinstance(with_disk, Unknown):
        return None
    volume, disk = _disk_gb(with_volume), _disk_gb(with_disk)
    if volume == disk:
        return True
    amounts = {row[_DISK] for row in held.values() if row.get(_DISK)}
    if amounts == {disk}:
        return False
    is_volume = held_of(Share.HOST, held) and amounts == ({volume} if volume else set())
    return True if is_volume else None


def _disk_gb(groups: Sequence[Group]) -> int:
    return sum(group.amounts.get(_DISK, 0) for group in groups)


def may_be_of_refused_rebuild(
    held: Amounts, flavor: Flavor, image: Mapping[str, str], instance: Instance, offered: bool
) -> bool:
    """Whether the image properties may differ from those of the guest.

    For a rebuild, Nova stores the properties of the new image before it asks the scheduler. If the
    scheduler refuses, Nova restores only the image itself, the instance is in error, and its guest
    runs as before. `offered`: its host has inventory for encrypted memory.
    """
    if instance.vm_state != "error" or is_true(flavor.extra_specs.get("hw:mem_encryption")):
        return False
    if not held:
        return offered
    is_held = any(_ENCRYPTION in row for row in held.values())
    return is_held != is_true(image.get("hw_mem_encryption"))


def may_have_dedicated(consumer: str, flavor: Flavor, instance: Instance, facts: Facts) -> bool:
    """Whether a host that has only VCPU perhaps gave PCPU to a consumer of this instance.

    SAFETY: Placement refuses to delete an inventory in use. So a consumer with PCPU was given it,
    even if its provider is in another tree by now. If the provider and its rows are lost, only the
    shared processors of the consumer are left.
    """
    holders = facts.once(_holders_of_pcpu)
    if consumer in holders:
        return True
    held = facts.consumers.get(consumer, {})
    shared = sum(row.get("VCPU", 0) for row in held.values())
    if shared == flavor.vcpus:
        return False
    if holders and instance.uuid not in facts.moving:
        moves = facts.migrations_of.get(instance.uuid, ())
        if any(move.uuid in holders for move in moves):
            return True
    image = instance.image_properties
    asked = dedicated_cpus(flavor, image or {})
    if not asked and image is not None:
        return False
    rest = 0 if isinstance(asked, Unknown) else asked.get("VCPU", 0)
    return shared == rest and bool(held_of(Share.HOST, held))


def _holders_of_pcpu(facts: Facts) -> frozenset[str]:
    """The consumers that hold PCPU on any provider. PERF: most clouds have none of them."""
    return frozenset(
        who for who, held in facts.consumers.items() if any("PCPU" in row for row in held.values())
    )
