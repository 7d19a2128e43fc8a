# SPDX-License-Identifier: Apache-2.0
"""Why nothing can be served."""

from dataclasses import dataclass


@dataclass(eq=False)
class AddressUnusable(Exception):
    """Nothing can be served at this address: it is taken, or not of this machine."""

    address: str
    reason: str
