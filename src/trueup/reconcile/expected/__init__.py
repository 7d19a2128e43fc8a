# SPDX-License-Identifier: Apache-2.0
"""Expected allocations of instances: amounts, providers and their certainty. Pure."""

from trueup.reconcile.expected.candidates import Demands, candidate_query
from trueup.reconcile.expected.comparison import (
    Difference,
    agrees,
    covers,
    difference,
    share_agrees,
)
from trueup.reconcile.expected.cpus import emulator_not_counted, pinned_otherwise
from trueup.reconcile.expected.groups import UNSUFFIXED, Group, flavor_groups
from trueup.reconcile.expected.instances import expected, expected_before_resize, expected_on
from trueup.reconcile.expected.parts import (
    Ambiguous,
    ExpectedAllocation,
    Known,
    NotOurs,
    Share,
    Unknown,
    held_of,
    open_reason,
    open_reasons,
    share_of,
)
from trueup.reconcile.expected.ports import RequestedGroup, requested_groups_on
from trueup.reconcile.expected.required_traits import required_traits
