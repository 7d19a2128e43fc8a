# SPDX-License-Identifier: Apache-2.0
"""Audits: facts become verdicts, and two audits become confirmed findings. Pure."""

from trueup.reconcile.audit.audit import Audit, answered, audit, judged
from trueup.reconcile.audit.observation import (
    CHANGED,
    Confirmed,
    FirstObservationMissing,
    IntervalInvalid,
    Observation,
    ObservedTooSoon,
    confirmed_again,
    observation,
    places_confirmed,
    refuse_interval,
    settling_seconds,
    suspect_places,
    suspects_of,
)
from trueup.reconcile.audit.remarks import remarks
