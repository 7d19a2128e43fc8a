# SPDX-License-Identifier: Apache-2.0
"""Request groups of a flavor and an image, as Nova's scheduler requests them from Placement.

PARITY: the groups are those that `nova.scheduler.utils.ResourceRequest` makes for the same flavor
and image; tests/differential/test_expected.py compares both.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from trueup.model.names import custom_resource_class, is_resource_class
from trueup.reconcile.expected.cpus import dedicated_cpus, is_true
from trueup.reconcile.expected.parts import Unknown
from trueup.reconcile.facts import Flavor

# The group without a suffix. Its classes may come from several providers of the tree.
UNSUFFIXED = ""
_OVERRIDE = re.compile(r"resources([a-zA-Z0-9_-]{1,64})?:(.*)")
_PROCESSORS = frozenset({"VCPU", "PCPU"})

# suffix → resource class → amount; zero means that the class is not requested
_Amounts = dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Group:
    """Amounts that are requested together, from one provider unless `suffix` is UNSUFFIXED."""

    suffix: str
    amounts: Mapping[str, int]


def flavor_groups(
    flavor: Flavor, image: Mapping[str, str], *, volume_backed: bool, pinning: bool = True
) -> tuple[Group, ...] | Unknown:
    """The request groups of an instance with this flavor and image.

    `pinning` says whether CPU policies request PCPU. For a host without PCPU inventory it is
    False, and VCPU is requested instead.
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
    """The extra specs `resources:CLASS` and `resources<suffix>:CLASS`, without malformed ones."""
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
    """One CUSTOM_PMEM_NAMESPACE_... for each namespace size that `hw:pmem` lists."""
    labels = (label.strip() for label in flavor.extra_specs.get("hw:pmem", "").split(","))
    amounts: dict[str, int] = {}
    for label in filter(None, labels):
        name = custom_resource_class(f"PMEM_NAMESPACE_{label}")
        amounts[name] = amounts.get(name, 0) + 1
    return amounts
