# SPDX-License-Identifier: Apache-2.0
"""Upstream's Placement as a service for the lab: the cloud must not depend on whose it is."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy
from oslo_config import cfg
from oslo_db.sqlalchemy import enginefacade
from placement import conf as options
from placement import db_api, deploy, policy
from placement.db.sqlalchemy import models


class UpstreamPlacement:
    """One service with an engine of its own; `close` gives the process its former one back."""

    def __init__(self, database_url: str) -> None:
        engine = sqlalchemy.create_engine(database_url)
        models.BASE.metadata.create_all(engine)
        engine.dispose()
        settings = cfg.ConfigOpts()
        options.register_opts(settings)
        settings.set_override("connection", database_url, "placement_database")
        settings.set_override("auth_strategy", "noauth2", "api")
        settings([], project="placement", default_config_files=[])
        self._database = enginefacade.transaction_context()
        self._database.configure(connection=database_url)
        self._restore = db_api.placement_context_manager.patch_factory(self._database)
        policy.reset()
        self._application = deploy.deploy(settings)
        policy.init(settings, suppress_deprecation_warnings=True)
        deploy.update_database(settings)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        return self._application(environ, start_response)

    def close(self) -> None:
        self._database.writer.get_engine().dispose()
        self._restore()
        policy.reset()
