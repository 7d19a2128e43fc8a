# SPDX-License-Identifier: Apache-2.0
"""Guests as Nova defines them: XML of the classes of Nova's own libvirt driver, on a real libvirt.

`python -m tests.clouds.guests URI FOLDER` defines them on a libvirtd of one's own: one runs (QEMU
without hardware acceleration), one is paused, one is shut off and has devices that need not be
there for that, one is of somebody who is not Nova. How they were recorded: recordings/README.md.
"""

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from nova import objects
from nova.virt.libvirt import config

objects.register_all()
CREATED = 1_795_219_200  # 2026-11-21 00:00:00
PROJECT, USER = "dde09582db8e46f894965fe3ff693940", "585fbc802b7b46ad955530236311525a"
IMAGE = "f4907e08-f3cb-4075-bdea-b24ecc0f282b"
WEB, HALTED = "64f07df9-a82b-4e95-bf52-d04049285a55", "815de3c2-9295-4060-942b-e8a23f66f8c3"
GPU, STRANGER = "a6e58088-45f6-4d7a-ac43-234f8fabeeb1", "0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f1"
MEDIATED = "4b20d080-1b54-4048-85b3-a6a62d165c01"
MEBIBYTE = 1 << 20


def with_fields(made: Any, **fields: object) -> Any:
    """The driver fills its objects so."""
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def metadata(name: str, flavor: str, vcpus: int) -> config.LibvirtConfigGuestMetaNovaInstance:
    kind = with_fields(
        config.LibvirtConfigGuestMetaNovaFlavor(),
        name=flavor, id="1", memory=64, disk=1, swap=0, ephemeral=0, vcpus=vcpus,
        extra_specs={"hw:cpu_policy": "dedicated"} if vcpus > 1 else {},
    )  # fmt: skip
    owner = with_fields(
        config.LibvirtConfigGuestMetaNovaOwner(),
        userid=USER, username="admin", projectid=PROJECT, projectname="admin",
    )  # fmt: skip
    image = with_fields(config.LibvirtConfigGuestMetaImage(), uuid=IMAGE)
    return with_fields(
        config.LibvirtConfigGuestMetaNovaInstance(),
        package="34.0.0", name=name, creationTime=CREATED, flavor=kind, owner=owner, image=image,
        roottype="image", rootid=IMAGE, ports=config.LibvirtConfigGuestMetaNovaPorts([]),
    )  # fmt: skip


def guest(number: int, uuid: str, vcpus: int = 1) -> config.LibvirtConfigGuest:
    """What each of them has."""
    made = with_fields(
        config.LibvirtConfigGuest(),
        virt_type="qemu", name=f"instance-{number:08x}", uuid=uuid, memory=64 * 1024, vcpus=vcpus,
        os_type="hvm", os_mach_type="q35", os_boot_dev=["hd"],
        features=[config.LibvirtConfigGuestFeatureACPI(), config.LibvirtConfigGuestFeatureAPIC()],
    )  # fmt: skip
    made.add_device(config.LibvirtConfigGuestRng())
    return made


def disk(folder: Path, uuid: str) -> config.LibvirtConfigGuestDisk:
    path = folder / uuid / "disk"
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["qemu-img", "create", "-q", "-f", "qcow2", str(path), str(MEBIBYTE)], check=True
    )
    return with_fields(
        config.LibvirtConfigGuestDisk(),
        source_type="file", source_path=str(path), driver_format="qcow2", driver_name="qemu",
        driver_cache="none", target_dev="vda", target_bus="virtio",
    )  # fmt: skip


def plain(folder: Path, number: int, uuid: str, name: str) -> config.LibvirtConfigGuest:
    made = guest(number, uuid)
    made.metadata.append(metadata(name, "x.tiny", 1))
    made.add_device(disk(folder, uuid))
    return made


def with_devices() -> config.LibvirtConfigGuest:
    """A mediated device, a PCI device, a virtual function as interface, a tap: shut off."""
    made = guest(3, GPU, vcpus=4)
    made.metadata.append(metadata("gpu", "x.gpu", 4))
    made.add_device(with_fields(config.LibvirtConfigGuestHostdevMDEV(), uuid=MEDIATED))
    made.add_device(
        with_fields(
            config.LibvirtConfigGuestHostdevPCI(),
            managed="yes", domain="0000", bus="81", slot="00", function="1",
        )
    )  # fmt: skip
    made.add_device(
        with_fields(
            config.LibvirtConfigGuestInterface(),
            net_type="hostdev", mac_addr="fa:16:3e:41:2b:a7", source_dev="0000:3b:0a.3",
        )
    )  # fmt: skip
    made.add_device(
        with_fields(
            config.LibvirtConfigGuestInterface(),
            net_type="ethernet", mac_addr="fa:16:3e:9f:00:01", target_dev="tap9f000001-aa",
            model="virtio", mtu=1450,
        )
    )  # fmt: skip
    return made


def stranger() -> config.LibvirtConfigGuest:
    """Somebody's own: made with other means, it says nothing of Nova."""
    return with_fields(guest(4, STRANGER), name="monitoring")


def made_on(connection: Any, folder: Path) -> Iterator[tuple[str, int]]:
    """Define all of them; those that are to run do. Each with its state."""
    web, halted = plain(folder, 1, WEB, "web"), plain(folder, 2, HALTED, "halted")
    for described in (web, halted, with_devices(), stranger()):
        domain = connection.defineXML(described.to_xml())
        if described in (web, halted):
            domain.create()
        if described is halted:
            domain.suspend()
        yield domain.name(), domain.state()[0]


if __name__ == "__main__":
    libvirt = import_module("libvirt")
    for name, state in made_on(libvirt.open(sys.argv[1]), Path(sys.argv[2])):
        sys.stdout.write(f"{name} {state}\n")
