# SPDX-License-Identifier: Apache-2.0
"""`placement.policy:get_enforcer`, for oslopolicy-checker and oslopolicy-validator."""

from oslo_policy.policy import Enforcer

from trueup.placement.api.access import enforcer_of
from trueup.placement.config import load, read


def get_enforcer() -> Enforcer:
    """The rules of the service and of its policy file."""
    return enforcer_of(read(load()))
