# SPDX-License-Identifier: Apache-2.0
"""A small cloud in a box, for the demo and for rehearsals: Nova's databases and a live Placement.

`draft` decides a `blueprint`, `nova` and `ledger` write it down, `serving` answers, and `drift`
breaks it.
"""

from trueup.lab.cloud import SmallCloud, small_cloud, trueup_placement
from trueup.lab.draft import CloudTooFull
from trueup.lab.drift import Drift, Kind, NotEnoughInstances, Planted

__all__ = [
    "CloudTooFull",
    "Drift",
    "Kind",
    "NotEnoughInstances",
    "Planted",
    "SmallCloud",
    "small_cloud",
    "trueup_placement",
]
