# SPDX-License-Identifier: Apache-2.0
"""What an instance should hold of its host, from its flavor alone."""

from collections.abc import Mapping
from dataclasses import dataclass

from trueup.reconcile.facts import Instance


@dataclass(frozen=True, slots=True)
class Unknown:
    """The amounts cannot be told from the flavor alone, for this reason."""

    reason: str


def host_amounts(instance: Instance) -> Mapping[str, int] | Unknown:
    """Amounts by resource class on its host's root provider, as Nova's scheduler asks for them.

    DISK_GB is the root disk unless that is a volume, the ephemeral disk, and the swap disk in whole
    GiB rounded up (Launchpad 1469179). An instance with peculiarities (pinned processors, devices,
    overridden resources) is Unknown.
    """
    if instance.peculiarities:
        return Unknown(
            "it asks for more than its flavor's plain amounts: " + ", ".join(instance.peculiarities)
        )
    flavor = instance.flavor
    if flavor is None:
        return Unknown("its flavor cannot be read")
    root_gb = 0 if instance.volume_backed else flavor.root_gb
    swap_gb = -(-flavor.swap_mb // 1024)
    amounts = {
        "VCPU": flavor.vcpus,
        "MEMORY_MB": flavor.memory_mb,
        "DISK_GB": root_gb + flavor.ephemeral_gb + swap_gb,
    }
    return {name: amount for name, amount in amounts.items() if amount}
