# SPDX-License-Identifier: Apache-2.0
"""The composition root: settings to database and API, joined in one WSGI application."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import oslo_middleware

from trueup.placement import config
from trueup.placement.api.access import Door
from trueup.placement.api.http import Service
from trueup.placement.api.request_ids import RequestIds
from trueup.placement.api.wsgi import make_api
from trueup.placement.config import Settings
from trueup.placement.store import schema
from trueup.placement.store.database import Database


class PlacementApplication:
    """A WSGI application over one database. Safe to call from several threads."""

    def __init__(self, database: Database, settings: Settings):
        self._database = database
        api: Any = make_api(Service(database, settings), Door(settings))
        if settings.auth_strategy == "keystone":
            api = _behind_keystone(api, settings)
        if settings.cors is not None:
            api = oslo_middleware.CORS.factory({}, **settings.cors)(api)
        self._application: Any = oslo_middleware.HTTPProxyToWSGI(RequestIds(api), settings.source)

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        answer: Iterable[bytes] = self._application(environ, start_response)
        return answer

    def close(self) -> None:
        """Release the connections to the database."""
        self._database.close()


def make_app(
    database_url: str, settings: Mapping[str, Mapping[str, Any]] | None = None
) -> PlacementApplication:
    """A Placement service over a database that has the tables.

    `settings` are the options of placement.conf: {group: {option: value}}. Standard resource
    classes and traits are added if they are missing; with `sync_on_startup`, so are tables.
    """
    chosen = config.from_mapping(settings)
    database = Database(database_url, chosen.database)
    if chosen.create_schema:
        schema.create_tables(database)
    schema.add_standard_names(database)
    return PlacementApplication(database, chosen)


def _behind_keystone(api: Any, settings: Settings) -> Any:
    # Importing it takes a third of a second, which services without keystone should not pay.
    from keystonemiddleware import auth_token

    from trueup.placement.api.access import OPEN_PATHS

    guarded = auth_token.AuthProtocol(api, {"oslo_config_config": settings.source})

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        is_open = environ.get("PATH_INFO", "") in OPEN_PATHS
        return (api if is_open else guarded)(environ, start_response)

    return application
