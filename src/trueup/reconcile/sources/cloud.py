# SPDX-License-Identifier: Apache-2.0
"""The services of a cloud, from which facts are read and to which steps are written."""

from dataclasses import dataclass

from trueup.reconcile.sources.libvirt import Hypervisors
from trueup.reconcile.sources.neutron import Neutron
from trueup.reconcile.sources.nova.contract import Nova, ServiceSettings
from trueup.reconcile.sources.placement.client import Placement


@dataclass(frozen=True, slots=True)
class Cloud:
    """The services of one cloud. If `neutron` or `hypervisors` is None, it is not read."""

    nova: Nova
    placement: Placement
    neutron: Neutron | None = None
    hypervisors: Hypervisors | None = None
    compute: ServiceSettings | None = None

    def close(self) -> None:
        self.nova.close()
        self.placement.close()
