# SPDX-License-Identifier: Apache-2.0
"""A small cloud in a box, for the demo and for rehearsals: Nova's databases and a live Placement.

`generate` makes a `blueprint`, `nova` and `ledger` write it into databases and Placement,
`serving` serves Placement, and `drift` plants defects.
"""

from trueup.lab.cloud import SmallCloud, small_cloud, trueup_placement
from trueup.lab.drift import Drift, Kind, NotEnoughInstances, Planted
