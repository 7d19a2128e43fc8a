# SPDX-License-Identifier: Apache-2.0
"""What Nova's scheduler asks Placement for a server, and what its filters leave of the hosts."""

from trueup.reconcile.scheduling.explain import Filtered, FilterStep, filtered
from trueup.reconcile.scheduling.moves import Move, MoveImpossible, moved
from trueup.reconcile.scheduling.query import Query, Refused, query_of
