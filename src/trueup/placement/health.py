# SPDX-License-Identifier: Apache-2.0
"""A check for oslo.middleware's /healthcheck: whether the database answers.

placement.conf enables it with `[healthcheck] backends = placement_database`.
"""

from dataclasses import replace
from typing import Any

from oslo_middleware.healthcheck.pluginbase import HealthcheckBaseExtension, HealthcheckResult

from trueup.placement import config
from trueup.placement.store.engine import availability


class DatabaseAnswers(HealthcheckBaseExtension):
    """Uses a connection of its own, so that a busy pool does not look like a lost database."""

    def __init__(self, oslo_conf: Any, conf: Any):
        super().__init__(oslo_conf, conf)
        settings = config.read(oslo_conf)
        single = replace(settings.database, pool_size=1, overflow=0)
        self._database = config.open_database(replace(settings, database=single))

    def healthcheck(self, server_port: int) -> HealthcheckResult:
        """Execute one statement."""
        if availability.answers(self._database):
            return HealthcheckResult(available=True, reason="OK")
        return HealthcheckResult(available=False, reason="The database does not answer")
