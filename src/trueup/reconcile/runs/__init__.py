# SPDX-License-Identifier: Apache-2.0
"""Runs: a plan is made, applied, continued and undone, with a journal of every write."""

from trueup.reconcile.runs.runs import (
    ALL_STEPS,
    INTERVAL_SECONDS,
    Chosen,
    Observer,
    Planned,
    Run,
    Wait,
    applied,
    closed,
    continued,
    note_undos,
    observer_of,
    plan,
    plan_again,
    plan_of_facts,
    undefined_in,
    undone,
)
