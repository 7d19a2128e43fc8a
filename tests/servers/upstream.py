# SPDX-License-Identifier: Apache-2.0
"""Upstream's Placement as a WSGI application, made from a database URL and settings alone.

Upstream keeps its database, its policy and what it synchronised in globals of the process, so
only one application of this kind may be in use at a time in a process.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import sqlalchemy
from oslo_config import cfg
from oslo_db.sqlalchemy import enginefacade
from placement import conf as upstream_conf
from placement import db_api, deploy, policy
from placement.db.sqlalchemy import migration, models
from placement.objects import resource_class, trait
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from tests.servers.databases import as_text

Settings = Mapping[str, Mapping[str, Any]]
NOAUTH: Settings = {"api": {"auth_strategy": "noauth2"}}


class UpstreamApplication:
    """Upstream's application, with a database and a policy of its own until it is closed."""

    def __init__(self, configuration: cfg.ConfigOpts):
        with contextlib.ExitStack() as stack:
            stack.enter_context(attached_database(configuration))
            self._application = deploy.deploy(configuration)
            policy.reset()
            policy.init(configuration, suppress_deprecation_warnings=True)
            self.close = stack.pop_all().close

    def __call__(self, environ: dict[str, Any], start_response: Callable) -> Iterable[bytes]:
        return self._application(environ, start_response)


@contextlib.contextmanager
def attached_database(configuration: cfg.ConfigOpts) -> Iterator[None]:
    """Upstream's objects read and write the configured database until the end."""
    with _connected_to(configuration):
        # What another database of this process got says nothing about this one.
        trait._TRAITS_SYNCED = False
        resource_class._RESOURCE_CLASSES_SYNCED = False
        deploy.update_database(configuration)
        yield


@contextlib.contextmanager
def _connected_to(configuration: cfg.ConfigOpts) -> Iterator[None]:
    options = dict(configuration.placement_database.items())
    options.pop("sync_on_startup")
    facade = enginefacade.transaction_context()
    facade.configure(**options)
    restore = db_api.placement_context_manager.patch_factory(facade)
    try:
        yield
    finally:
        facade.writer.get_engine().dispose()
        restore()


def make_app(database_url: str, settings: Settings | None = None) -> UpstreamApplication:
    return UpstreamApplication(_configuration(database_url, settings or {}))


def create_tables(database_url: str) -> None:
    """Upstream's newest schema in an empty database."""
    engine = sqlalchemy.create_engine(database_url, poolclass=NullPool)
    models.BASE.metadata.create_all(engine)


def upgrade(database_url: str, revision: str) -> None:
    """Upstream's tables, as they were at a revision, in an empty database."""
    with _connected_to(_configuration(database_url, {})):
        migration.upgrade(revision)


def _configuration(database_url: str, settings: Settings) -> cfg.ConfigOpts:
    configuration = cfg.ConfigOpts()
    upstream_conf.register_opts(configuration)
    for group, options in settings.items():
        for option, value in options.items():
            # Another implementation may have options that upstream does not know.
            with contextlib.suppress(cfg.NoSuchOptError, cfg.NoSuchGroupError):
                configuration.set_override(option, value, None if group == "DEFAULT" else group)
    configuration.set_override("connection", upstream_url(database_url), "placement_database")
    configuration([], project="placement", default_config_files=[])
    return configuration


def upstream_url(database_url: str) -> str:
    """Upstream's error translation is written for psycopg2."""
    url = make_url(database_url)
    if url.get_backend_name() == "postgresql":
        url = url.set(drivername="postgresql+psycopg2")
    return as_text(url)
