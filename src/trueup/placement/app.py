# SPDX-License-Identifier: Apache-2.0
"""The composition root: makes one WSGI application of settings, database and API.

From the inside out, as upstream: the API, keystone, CORS, proxy headers, the request log. The
request log wraps keystone, so that it also has requests whose token is refused.
"""

import logging
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from threading import Lock
from typing import Any

import oslo_middleware

from trueup.placement import config
from trueup.placement.api.access import OPEN_PATHS
from trueup.placement.api.request_ids import RequestIds
from trueup.placement.api.routes import EVERY_ROUTE
from trueup.placement.api.wsgi import make_api
from trueup.placement.config import Settings
from trueup.placement.meter import Meter
from trueup.placement.middleware import keystone
from trueup.placement.middleware.beside import beside
from trueup.placement.middleware.origins import behind_proxy, open_to_origins
from trueup.placement.middleware.tracing import Traced
from trueup.placement.store import migrations, schema
from trueup.placement.store.engine import availability
from trueup.placement.store.engine.database import Database

HEALTHCHECK = "/healthcheck"

_PATIENCE_SECONDS = 1.0

_SWITCH_SECONDS = 0.0005
"""How long a thread may run while others wait, in a process that serves nothing else.

PERF: Python's default is ten times as much, and a request waits for its turn after each answer of
the database. Beside a busy thread (a search for foreign writes, a large answer) candidates with
`limit=10` took 6.5 ms with the default and 1.7 with this, where they take 1.0 alone; four busy
threads need 1 % more processor time.
"""

_log = logging.getLogger(__name__)


class PlacementApplication(RequestIds):
    """A WSGI application over one database. Safe to call from several threads.

    It starts even if its database does not answer: until then, GET / works, and every other request
    gets 503. `owns_process`: the process is a worker of a web server, and serves nothing else.
    """

    def __init__(self, database: Database, settings: Settings, *, owns_process: bool = False):
        if owns_process:
            sys.setswitchinterval(_SWITCH_SECONDS)
        self._database, self._settings = database, settings
        self._is_prepared, self._preparing = False, Lock()
        self._preparing_since = 0.0
        meter = _metered(database, settings.metrics)
        api: Any = make_api(database, settings, self._prepare, owns_process=owns_process)
        if settings.auth_strategy == "keystone":
            api = _guarded(api, settings)
        if settings.healthcheck:
            api = _beside_healthcheck(api, settings)
        if settings.metrics is not None:
            api = _beside_metrics(api, settings.metrics)
        if settings.cors is not None:
            api = open_to_origins(api, settings.cors)
        if settings.behind_proxy:
            api = behind_proxy(api, settings.source)
        if settings.traces:
            api = _traced(api, database, settings)
        super().__init__(
            api,
            database.write_slots.leave_one_of,
            meter=meter,
            logs_time=settings.logs_request_time,
        )
        try:
            self._prepare()
        except Exception as error:
            if not availability.is_away(error):
                raise
            _log.warning("The database does not answer yet: %s", availability.reason(error))

    @property
    def database(self) -> Database:
        """The database, for programs that embed the service."""
        return self._database

    def close(self) -> None:
        """Release the connections to the database."""
        self._database.close()

    def _prepare(self) -> None:
        """Prepare the database for requests, once.

        Raises the error of the database, and DatabaseSilent while another thread waits for it.
        """
        if not self._preparing.acquire(timeout=self._patience_seconds()):
            raise availability.DatabaseSilent
        try:
            if self._is_prepared:
                return
            self._preparing_since = time.monotonic()
            if self._settings.create_schema:
                self._upgrade()
            migrations.refuse_unknown_revision(self._database)
            migrations.attach(self._database)
            schema.add_standard_names(self._database)
            self._is_prepared = True
        finally:
            self._preparing.release()
            # SAFETY: servers fork after this, and a connection must not have two owners.
            if not self._database.is_in_memory:
                self._database.close()

    def _upgrade(self) -> None:
        if self._database.is_in_memory:
            migrations.upgrade(self._database)
            return
        # A change of the schema may take longer than the statements of a request.
        with closing(config.open_for_maintenance(self._settings)) as database:
            migrations.upgrade(database)

    def _patience_seconds(self) -> float:
        """The wait for another thread: none if it has tried for a second already."""
        tried_seconds = time.monotonic() - self._preparing_since
        return max(_PATIENCE_SECONDS - tried_seconds, 0) if self._preparing.locked() else 1


def make_app(
    database_url: str, settings: Mapping[str, Mapping[str, Any]] | None = None
) -> PlacementApplication:
    """A Placement service over a database with tables.

    `settings` are the options of placement.conf: {group: {option: value}}. Standard resource
    classes and traits are added if they are missing; with `sync_on_startup`, so are tables.
    """
    given = {group: dict(options) for group, options in (settings or {}).items()}
    given.setdefault("placement_database", {})["connection"] = database_url
    return make_service(config.from_mapping(given))


def make_service(settings: Settings, *, owns_process: bool = False) -> PlacementApplication:
    """The service with these settings.

    Raises ConfigurationUnusable without a database, UnknownRevision if its tables are of a later
    release, and the error of a database without tables.
    """
    database = config.open_database(settings)
    return PlacementApplication(database, settings, owns_process=owns_process)


def make_embedded_service(
    settings: Settings, *, owns_process: bool = False
) -> PlacementApplication:
    """The service without authentication: every caller is an administrator.

    SAFETY: the program that calls this also chooses the listening address.
    """
    return make_service(replace(settings, auth_strategy=config.ANYONE), owns_process=owns_process)


def _guarded(api: Any, settings: Settings) -> Any:
    try:
        return keystone.guard(api, settings.source, OPEN_PATHS)
    except keystone.CredentialsUnusable as error:
        raise config.ConfigurationUnusable(str(error)) from error


def _traced(api: Any, database: Database, settings: Settings) -> Any:
    try:
        traced = Traced(api, settings.source)
        if settings.traces_statements:
            database.trace_statements()
    except ImportError as error:
        # PARITY: upstream starts as well, without a warning.
        _log.warning(
            "enabled in [profiler] has no effect: %s. Install it with: pip install "
            "'trueup[profiler]'",
            error,
        )
        return api
    return traced


def _metered(database: Database, options: config.MetricsOptions | None) -> Meter | None:
    """The meter of a service with metrics, which the database then reports to."""
    if options is None:
        return None
    first = f"/{options.path.split('/')[1]}"
    if first == HEALTHCHECK or any(route.url.split("/")[1] == first[1:] for route in EVERY_ROUTE):
        raise config.ConfigurationUnusable(
            f"metrics_path in [trueup] is {options.path}, which the API uses: choose another one"
        )
    # PERF: the library is imported only where it is used.
    from trueup.placement.metrics import files
    from trueup.placement.metrics.prometheus import PrometheusMeter

    try:
        files.keep_values_in(options.folder)
    except OSError as error:
        raise config.ConfigurationUnusable(
            f"metrics_folder {options.folder} cannot be written: {error.strerror}"
        ) from error
    meter = PrometheusMeter()
    database.report_to(meter)
    return meter


def _beside_metrics(api: Any, options: config.MetricsOptions) -> Any:
    from trueup.placement.metrics import files

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        media_type, body = files.scrape(options.folder, environ.get("HTTP_ACCEPT", ""))
        length = str(len(body))
        start_response("200 OK", [("content-type", media_type), ("content-length", length)])
        return [body]

    return beside(api, options.path, answer)


def _beside_healthcheck(api: Any, settings: Settings) -> Any:
    # SAFETY: it needs no token, and its details have stacks, versions and the name of the host.
    settings.source.set_override("detailed", False, "healthcheck")
    return beside(api, HEALTHCHECK, oslo_middleware.Healthcheck(None, settings.source))
