# SPDX-License-Identifier: Apache-2.0
"""Domains on a private libvirtd with libvirt's test driver, as Nova's driver defines them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from tests.servers.processes import ProgramMissing

# The binding is built when the environment is made, where these are installed.
PACKAGES = "libvirt-dev, pkg-config, gcc and python3-dev (make packages)"
DOMAIN = """
<domain type='test'>
  <name>{name}</name>
  <uuid>{uuid}</uuid>
  <metadata>
    <nova:instance xmlns:nova="http://openstack.org/xmlns/libvirt/nova/1.1">
      <nova:owner><nova:project uuid="a-project">a-project</nova:project></nova:owner>
    </nova:instance>
  </metadata>
  <memory unit='MiB'>64</memory>
  <vcpu>1</vcpu>
  <os><type>hvm</type></os>
  <devices>
    <disk type='file' device='disk'>
      <source file='/var/lib/nova/instances/{uuid}/disk'/>
      <target dev='vda'/>
    </disk>
  </devices>
</domain>
"""


NODE = "<node>{domains}</node>"


def node_of(uuids: Iterable[str]) -> str:
    """A file of libvirt's test driver: a host on which the guests of these instances run."""
    rows = (
        DOMAIN.format(uuid=uuid, name=f"instance-{number}") for number, uuid in enumerate(uuids)
    )
    return NODE.format(domains="".join(rows))


def binding() -> Any:
    """libvirt's binding."""
    try:
        return import_module("libvirt")
    except ModuleNotFoundError:
        missing = f"libvirt's binding was not found: install the packages {PACKAGES}"
        raise ProgramMissing(missing) from None


@contextmanager
def connected(uri: str) -> Iterator[Any]:
    """A connection that may write."""
    connection = binding().open(uri)
    try:
        yield connection
    finally:
        connection.close()


def define(uri: str, uuid: str, running: bool = False, name: str = "instance-0000000a") -> None:
    """Define a domain of Nova's, and start it if it is to run."""
    with connected(uri) as connection:
        domain = connection.defineXML(DOMAIN.format(uuid=uuid, name=name))
        if running:
            domain.create()


def states(uri: str) -> dict[str, bool]:
    """Whether each domain runs, by uuid."""
    with connected(uri) as connection:
        return {one.UUIDString(): bool(one.isActive()) for one in connection.listAllDomains(0)}


def forget(uri: str, uuid: str) -> None:
    """Stop a domain and remove its definition, if it is there."""
    with connected(uri) as connection:
        for one in connection.listAllDomains(0):
            if one.UUIDString() != uuid:
                continue
            if one.isActive():
                one.destroy()
            one.undefine()
