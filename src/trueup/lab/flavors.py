# SPDX-License-Identifier: Apache-2.0
"""The lab's flavors, and the resources that an instance of each holds on its host."""

from dataclasses import dataclass

_MEBIBYTES_PER_GIBIBYTE = 1024


@dataclass(frozen=True, slots=True)
class Flavor:
    """A size of instances; memory and swap in MiB, disks in GiB, as Nova has them."""

    number: int
    name: str
    vcpus: int
    memory_mb: int
    root_gb: int
    ephemeral_gb: int = 0
    swap_mb: int = 0

    def resources(self, *, volume_backed: bool) -> dict[str, int]:
        """What Nova allocates for one instance, without classes whose amount is zero."""
        root_gb = 0 if volume_backed else self.root_gb
        # Flavors give swap in MiB, and inventories give disk in GiB: Nova rounds up.
        swap_gb = -(-self.swap_mb // _MEBIBYTES_PER_GIBIBYTE)
        claimed = {
            "VCPU": self.vcpus,
            "MEMORY_MB": self.memory_mb,
            "DISK_GB": root_gb + self.ephemeral_gb + swap_gb,
        }
        return {resource_class: amount for resource_class, amount in claimed.items() if amount}


FLAVORS = (
    Flavor(1, "lab.tiny", vcpus=1, memory_mb=512, root_gb=5, swap_mb=512),
    Flavor(2, "lab.small", vcpus=1, memory_mb=2048, root_gb=20),
    Flavor(3, "lab.medium", vcpus=2, memory_mb=4096, root_gb=40),
    Flavor(4, "lab.scratch", vcpus=4, memory_mb=4096, root_gb=20, ephemeral_gb=40, swap_mb=1536),
    Flavor(5, "lab.large", vcpus=4, memory_mb=8192, root_gb=80),
    Flavor(6, "lab.huge", vcpus=8, memory_mb=16384, root_gb=160),
)

# How often each flavor is used, as relative weights: small ones most, as in most clouds.
POPULARITY = (20, 30, 25, 8, 12, 5)


def next_larger(flavor: Flavor) -> Flavor:
    """The flavor that a resize of `flavor` leads to; the largest is resized to the one below."""
    position = FLAVORS.index(flavor)
    return FLAVORS[position + 1] if position + 1 < len(FLAVORS) else FLAVORS[position - 1]
