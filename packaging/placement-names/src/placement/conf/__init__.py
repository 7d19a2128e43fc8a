# SPDX-License-Identifier: Apache-2.0
"""`placement.conf.register_opts`: every option of placement.conf."""

from trueup.placement.config import register as register_opts

__all__ = ["register_opts"]
