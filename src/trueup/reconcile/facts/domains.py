# SPDX-License-Identifier: Apache-2.0
"""What libvirt says: the domains of a hypervisor."""

from dataclasses import dataclass

# States in which no guest runs, and its memory is not in use.
_INACTIVE_STATES = frozenset({"shut off", "crashed", "no state"})


@dataclass(frozen=True, slots=True)
class Domain:
    """A domain; `ours`: its metadata says that Nova made it.

    `mediated_devices` are mdev uuids, `host_devices` PCI addresses as `0000:81:00.1`.
    """

    uuid: str
    host: str
    name: str
    state: str
    ours: bool
    project: str = ""
    flavor: str = ""
    mediated_devices: tuple[str, ...] = ()
    host_devices: tuple[str, ...] = ()

    @property
    def active(self) -> bool:
        """Whether its guest runs, or is paused or suspended."""
        return self.state not in _INACTIVE_STATES
