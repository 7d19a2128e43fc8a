# SPDX-License-Identifier: Apache-2.0
"""The definition of a libvirt domain: a target, its state and its guard, as values of a plan."""

from hashlib import sha256
from typing import Literal

import msgspec

# What may be lost together with the definition of a domain: its running guest, the file of its
# firmware's variables, or the saved memory of its guest.
Discard = Literal["guest", "nvram", "managed-save"]


class DomainDefinition(msgspec.Struct, frozen=True, omit_defaults=True, tag="domain"):
    """Target: the definition of a libvirt domain on a host.

    `discards` is what may be lost if it is removed. SAFETY: without "guest" the definition of a
    domain whose guest runs is never removed. Disks are never removed.
    """

    host: str
    domain: str
    discards: tuple[Discard, ...] = ()


class DomainText(msgspec.Struct, frozen=True, tag="domain"):
    """A domain's inactive definition, as libvirt prints it."""

    xml: str

    @property
    def digest(self) -> str:
        """Its version, because libvirt keeps none."""
        return sha256(msgspec.json.encode(self)).hexdigest()


class DomainIs(msgspec.Struct, frozen=True, tag="domain-is"):
    """Guard: a host's hypervisor has the domain in this state; None if it has no such domain."""

    host: str
    domain: str
    state: str | None
