# SPDX-License-Identifier: Apache-2.0
"""The error of a server that cannot listen."""

from dataclasses import dataclass


@dataclass(eq=False)
class AddressUnusable(Exception):
    """The address is taken, or is not an address of this machine."""

    address: str
    reason: str
