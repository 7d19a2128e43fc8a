# SPDX-License-Identifier: Apache-2.0
"""placement-status."""

from trueup.placement.manage.status import main

__all__ = ["main"]
