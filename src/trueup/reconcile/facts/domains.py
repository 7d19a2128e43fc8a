# SPDX-License-Identifier: Apache-2.0
"""What libvirt says: the domains of a hypervisor."""

from dataclasses import dataclass

# States in which the guest does not run and uses no memory.
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


@dataclass(frozen=True, slots=True)
class DomainRecord:
    """A domain's inactive definition as libvirt prints it, and its other state on the host.

    `disks` are the files, devices and volumes that the definition names. `managed_save` says that
    the memory of its guest is saved on the host; `snapshots` is the number that libvirt knows.
    """

    domain: str
    host: str
    xml: str
    disks: tuple[str, ...] = ()
    nvram: str = ""
    managed_save: bool = False
    snapshots: int = 0
