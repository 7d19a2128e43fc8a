# SPDX-License-Identifier: Apache-2.0
"""Plans: confirmed findings become ordered steps, complete in themselves. Pure."""

from trueup.reconcile.plan.dependencies import (
    after_domain_removal,
    after_release,
    removed_by,
    undefined_by,
)
from trueup.reconcile.plan.narrowed import LEFT_OUT, Direction, Only, direction_of, narrowed
from trueup.reconcile.plan.order import (
    Effect,
    HostEffect,
    ProjectEffect,
    merged,
    ordered,
    project_effects,
)
from trueup.reconcile.plan.plan import (
    CELL_ZERO,
    LimitExceeded,
    NotPlanned,
    Plan,
    PlanForeign,
    PlanStale,
    Remedy,
    Ruling,
    consumers_of,
    domains_wanted,
    in_reverse,
    make_plan,
    of_this_cloud,
    proposed,
    refuse_foreign,
    refuse_too_large,
    refuse_unfit,
    remedy_of_defect,
)
