# SPDX-License-Identifier: Apache-2.0
"""The services we talk to: one file each, that reads facts and writes steps."""

from dataclasses import dataclass

from trueup.reconcile.cloud.nova import NovaDatabases
from trueup.reconcile.cloud.placement import Placement


@dataclass(frozen=True, slots=True)
class Cloud:
    """One cloud's services, connected."""

    nova: NovaDatabases
    placement: Placement

    def close(self) -> None:
        self.nova.close()
        self.placement.close()
