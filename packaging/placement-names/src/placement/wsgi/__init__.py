# SPDX-License-Identifier: Apache-2.0
"""`placement.wsgi:init_application`, for servers that call a factory."""

from trueup.placement.worker import init_application

__all__ = ["init_application"]
