# SPDX-License-Identifier: Apache-2.0
"""Request groups of a flavor and an image: what Nova's scheduler asks Placement for.

PARITY: group for group what `nova.scheduler.utils.ResourceRequest` makes of the same flavor;
tests/differential/test_expected.py asks both.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from trueup.model.names import custom_resource_class, is_resource_class
from trueup.reconcile.expected.cpus import dedicated_cpus, is_true
from trueup.reconcile.expected.parts import Unknown
from trueup.reconcile.facts import Flavor

# The group without a suffix, whose classes may come from several providers of the tree.
UNSUFFIXED = ""
_OVERRIDE = re.compile(r"resources([a-zA-Z0-9_-]{1,64})?:(.*)")
_PROCESSORS = frozenset({"VCPU", "PCPU"})

# suffix → resource class → amount; zero says that none of the class is wanted
_Amounts = dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Group:
    """Amounts that are asked for together, of one provider unless `suffix` is UNSUFFIXED."""

    suffix: str
    amounts: Mapping[str, int]


def flavor_groups(
    flavor: Flavor, image: Mapping[str, str], *, volume_backed: bool, pinning: bool = True
) -> tuple[Group, ...] | Unknown:
    """What an instance of this flavor, started from this image, asks for.

    `pinning` says whether processor policies ask for PCPU: hosts that have none of it are asked
    for VCPU instead.
    """
    groups = _overrides(flavor.extra_specs)
    unsuffixed = groups.setdefault(UNSUFFIXED, {})
    if pinning:
        dedicated = dedicated_cpus(flavor, image)
        if isinstance(dedicated, Unknown):
            return dedicated
        unsuffixed.update(dedicated)
    overridden = {name for amounts in groups.values() for name in amounts}
    for name, amount in _plain(flavor, volume_backed).items():
        if name not in overridden and not (name == "VCPU" and overridden & _PROCESSORS):
            unsuffixed[name] = amount
    if _memory_encrypted(flavor, image):
        unsuffixed["MEM_ENCRYPTION_CONTEXT"] = 1
    unsuffixed.update(_persistent_memory(flavor))
    return tuple(
        Group(suffix, wanted)
        for suffix, amounts in sorted(groups.items())
        if (wanted := {name: amount for name, amount in amounts.items() if amount})
    )


def _overrides(extra_specs: Mapping[str, str]) -> _Amounts:
    """`resources:CLASS` and `resources<suffix>:CLASS`; what Nova does not understand it ignores."""
    groups: _Amounts = {}
    for key, value in extra_specs.items():
        match = _OVERRIDE.fullmatch(key)
        if match is None or not is_resource_class(match[2]):
            continue
        try:
            amount = int(value)
        except ValueError:
            continue
        if amount >= 0:
            groups.setdefault(match[1] or UNSUFFIXED, {})[match[2]] = amount
    return groups


def _plain(flavor: Flavor, volume_backed: bool) -> Mapping[str, int]:
    """The flavor's own amounts.

    DISK_GB is the root disk unless that is a volume, the ephemeral disk, and the swap disk in whole
    GiB rounded up (Launchpad 1469179).
    """
    root_gb = 0 if volume_backed else flavor.root_gb
    swap_gb = -(-flavor.swap_mb // 1024)
    return {
        "VCPU": flavor.vcpus,
        "MEMORY_MB": flavor.memory_mb,
        "DISK_GB": root_gb + flavor.ephemeral_gb + swap_gb,
    }


def _memory_encrypted(flavor: Flavor, image: Mapping[str, str]) -> bool:
    words = (flavor.extra_specs.get("hw:mem_encryption"), image.get("hw_mem_encryption"))
    return any(map(is_true, words))


def _persistent_memory(flavor: Flavor) -> Mapping[str, int]:
    """One of the class of its size for each namespace that `hw:pmem` lists."""
    labels = (label.strip() for label in flavor.extra_specs.get("hw:pmem", "").split(","))
    amounts: dict[str, int] = {}
    for label in filter(None, labels):
        name = custom_resource_class(f"PMEM_NAMESPACE_{label}")
        amounts[name] = amounts.get(name, 0) + 1
    return amounts
