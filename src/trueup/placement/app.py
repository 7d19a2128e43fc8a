# SPDX-License-Identifier: Apache-2.0
"""The composition root: settings to database and API, joined in one WSGI application.

From the inside out, as upstream: the API, keystone, CORS, proxy headers, the request log. The
request log is around keystone, so that it also has requests whose token is refused.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from threading import Lock
from typing import Any

import oslo_middleware

from trueup.placement import config, keystone
from trueup.placement.api.access import OPEN_PATHS
from trueup.placement.api.request_ids import RequestIds
from trueup.placement.api.wsgi import make_api
from trueup.placement.config import Settings
from trueup.placement.store import migrations, schema
from trueup.placement.store.engine import availability
from trueup.placement.store.engine.database import Database

HEALTHCHECK = "/healthcheck"

_log = logging.getLogger(__name__)


class PlacementApplication(RequestIds):
    """A WSGI application over one database. Safe to call from several threads.

    It starts without its database too. Until the database answers, GET / works, and every other
    request gets 503.
    """

    def __init__(self, database: Database, settings: Settings):
        self._database, self._settings = database, settings
        self._prepared, self._preparing = False, Lock()
        api: Any = make_api(database, settings)
        if settings.auth_strategy == "keystone":
            api = keystone.guard(api, settings.source, OPEN_PATHS)
        if settings.healthcheck:
            api = _beside_healthcheck(api, settings)
        if settings.cors is not None:
            api = oslo_middleware.CORS.factory({}, **settings.cors)(api)
        # PERF: it costs 70 microseconds, as much as all that GET / does, also when it does nothing.
        if settings.behind_proxy:
            api = oslo_middleware.HTTPProxyToWSGI(api, settings.source)
        self._ready = api
        super().__init__(self._prepare_first, database.write_slots.leave_one_of)
        self._prepare()

    @property
    def database(self) -> Database:
        """The ledger, for those who embed the service."""
        return self._database

    def close(self) -> None:
        """Release the connections to the database."""
        self._database.close()

    def _prepare(self) -> None:
        """Prepare the database for requests, or log that it does not answer yet."""
        with self._preparing:
            if self._prepared:
                return
            try:
                if self._settings.create_schema:
                    migrations.upgrade(self._database)
                migrations.attach(self._database)
                schema.add_standard_names(self._database)
            except Exception as error:
                if not availability.is_away(error):
                    raise
                _log.warning("The database does not answer yet: %s", error)
                return
            finally:
                # SAFETY: servers fork after this, and a connection must not have two owners.
                if not self._database.is_in_memory:
                    self._database.close()
            self._prepared = True
            self.application = self._ready

    def _prepare_first(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """The application until the database has answered for the first time."""
        if environ.get("PATH_INFO", "") not in OPEN_PATHS:
            self._prepare()
        answer: Iterable[bytes] = self._ready(environ, start_response)
        return answer


def make_app(
    database_url: str, settings: Mapping[str, Mapping[str, Any]] | None = None
) -> PlacementApplication:
    """A Placement service over a database that has the tables.

    `settings` are the options of placement.conf: {group: {option: value}}. Standard resource
    classes and traits are added if they are missing; with `sync_on_startup`, so are tables.
    """
    given = {group: dict(options) for group, options in (settings or {}).items()}
    given.setdefault("placement_database", {})["connection"] = database_url
    return make_service(config.from_mapping(given))


def make_service(settings: Settings) -> PlacementApplication:
    """The service that these settings describe.

    Raises ConfigurationUnusable without a database, and what the database says if it has no
    tables.
    """
    return PlacementApplication(config.open_database(settings), settings)


def make_embedded_service(settings: Settings) -> PlacementApplication:
    """The same without authentication: every caller is an administrator.

    SAFETY: the program that calls this also chooses where to listen.
    """
    return make_service(replace(settings, auth_strategy=config.ANYONE))


def _beside_healthcheck(api: Any, settings: Settings) -> Any:
    check = oslo_middleware.Healthcheck(None, settings.source)

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        is_check = environ.get("PATH_INFO", "") == HEALTHCHECK
        return (check if is_check else api)(environ, start_response)

    return application
