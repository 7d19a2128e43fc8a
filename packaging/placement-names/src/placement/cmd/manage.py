# SPDX-License-Identifier: Apache-2.0
"""placement-manage."""

from trueup.placement.manage.program import main

__all__ = ["main"]
