# SPDX-License-Identifier: Apache-2.0
"""placement.conf, its folder and its environment, read into one frozen Settings.

Each source overrides the ones before it: upstream's defaults, placement.conf, placement.conf.d, the
environment (OS_<GROUP>__<OPTION>), the command line. Unknown options are ignored, as by all of
OpenStack's services.
"""

import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from oslo_config import cfg
from oslo_log import log
from oslo_policy import opts as policy_options

from trueup.placement import request_log
from trueup.placement.middleware import keystone
from trueup.placement.options import OPTIONS, set_library_defaults
from trueup.placement.store.engine import availability
from trueup.placement.store.engine.database import Database
from trueup.placement.store.engine.sessions import DatabaseOptions

FILE = "placement.conf"
FOLDER_VARIABLE = "OS_PLACEMENT_CONFIG_DIR"

ANYONE = "anyone"
"""The auth_strategy of an embedded service: every caller is an administrator. SAFETY: no file can
set it, only a program that also chooses the listening address."""

_PROJECT = "placement"
_SQL_STATEMENTS, _SQL_RESULTS = 50, 100


class ConfigurationUnusable(Exception):
    """An option is missing, or its value is invalid."""


@dataclass(frozen=True, slots=True)
class MetricsOptions:
    """The path at which metrics are served, and the folder in which workers keep them."""

    path: str
    folder: Path


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of the service. `source` is for libraries that read options themselves."""

    auth_strategy: str
    incomplete_project_id: str
    incomplete_user_id: str
    randomize_candidates: bool
    candidates_max: int | None
    """None means no limit."""
    breadth_first: bool
    create_schema: bool
    database_url: str | None
    database: DatabaseOptions
    cors: Mapping[str, Any] | None
    """The options of the CORS middleware; None refuses pages of other origins."""
    healthcheck: bool
    """Whether /healthcheck is served."""
    body_length_max: int
    """The limit of a request body, in bytes."""
    metrics: MetricsOptions | None
    """None means no metrics."""
    logs_request_time: bool
    """Whether the request log has the seconds of each request."""
    logs_empty_searches: bool
    """Whether the log says why a search for candidates found nothing."""
    traces: bool
    """Whether requests with osprofiler's headers are traced."""
    traces_statements: bool
    """Whether a trace has the SQL statements of its request."""
    behind_proxy: bool
    """Whether to trust a proxy's headers for the client's address and the service's URL."""
    source: Any


def from_mapping(given: Mapping[str, Mapping[str, Any]] | None) -> Settings:
    """Settings from {group: {option: value}}, with upstream's defaults for other options.

    Raises ConfigurationUnusable.
    """
    source = cfg.ConfigOpts()
    register(source)
    # Only the mapping counts: neither files, nor the environment of a test run.
    source([], project=_PROJECT, default_config_files=[], default_config_dirs=[], use_env=False)
    if given and keystone.GROUP in given:
        try:
            keystone.register(source, given[keystone.GROUP])
        except keystone.CredentialsUnusable as error:
            raise ConfigurationUnusable(str(error)) from error
    for group, options in (given or {}).items():
        for name, value in options.items():
            _override(source, group, name, value)
    return read(source)


def load(
    arguments: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    add_commands: Callable[[cfg.ConfigOpts], None] = lambda source: None,
) -> cfg.ConfigOpts:
    """Parse a command line together with the files and variables that upstream reads.

    Raises ConfigurationUnusable; an invalid command line ends the program with 2, as argparse does.
    """
    source = cfg.ConfigOpts()
    register(source)
    add_commands(source)
    files, folders = _places(os.environ if environment is None else environment)
    try:
        source(
            list(arguments),
            project=_PROJECT,
            version=version("trueup"),
            default_config_files=files,
            default_config_dirs=folders,
        )
    except cfg.Error as error:
        raise ConfigurationUnusable(str(error)) from error
    except UnicodeDecodeError as error:
        named = " ".join([*(files or []), *arguments])
        raise ConfigurationUnusable(f"a file is not UTF-8, of {named}: {error}") from error
    except IsADirectoryError as error:
        raise ConfigurationUnusable(f"{error.filename} is a folder, not a file") from error
    except FileNotFoundError as error:
        # oslo.config's wheels lack the templates that its --shell_completion reads.
        raise ConfigurationUnusable(
            f"--shell_completion needs {error.filename}, which oslo.config did not install"
        ) from error
    return source


def add_command_group(
    source: cfg.ConfigOpts, name: str, describe: str, add_parsers: Callable[[Any], None]
) -> None:
    """Add commands to the command line; `source.command` has the chosen one and its options."""
    group = cfg.SubCommandOpt(
        name, dest="command", title="Command", help=describe, handler=add_parsers
    )
    source.register_cli_opt(group)


def register(source: cfg.ConfigOpts) -> None:
    """Register every option with oslo.config."""
    for group, options in OPTIONS.items():
        source.register_opts(options, group=None if group == "DEFAULT" else group)
    log.register_options(source)
    policy_options.set_defaults(source)
    set_library_defaults()


def read(source: cfg.ConfigOpts) -> Settings:
    """The values of all options. Raises ConfigurationUnusable for an invalid value."""
    try:
        return _settings_of(source)
    except cfg.NoSuchOptError as error:
        # All of ours are there, so a value names it, as $name.
        raise ConfigurationUnusable(
            f"{error}. In a value, write '$$' for a '$', as in a password"
        ) from error
    except (cfg.Error, ValueError) as error:
        # oslo.config writes the place of a value as Python shows the object.
        text = re.sub(r" from LocationInfo\(.*?detail='(.*?)'\)", r" in \1", str(error))
        raise ConfigurationUnusable(text) from error


def open_database(settings: Settings) -> Database:
    """The configured database for requests; it need not answer yet.

    SAFETY: a standby is not read, to which a proxy may lead while a fail-over is under way.
    Raises ConfigurationUnusable if none is configured, or its URL is invalid.
    """
    if not settings.database_url:
        raise ConfigurationUnusable(
            "no database is named. Set the option 'connection' in [placement_database]"
        )
    options = replace(settings.database, takes_standby=False)
    return _opened(availability.open_database, settings.database_url, options)


def open_for_maintenance(settings: Settings) -> Database:
    """The database for commands, which wait for locks as long as the server permits."""
    options = replace(settings.database, lock_wait_seconds=None)
    return _opened(availability.open_database, _named_url(settings), options)


def open_to_read(settings: Settings, otherwise: str = "") -> Database:
    """The database for commands that only read, and create no file.

    `otherwise`: how else a command lets its user name a database.
    """
    url = _named_url(settings, otherwise)
    return _opened(availability.open_existing, url, settings.database)


def _opened(
    opening: Callable[[str, DatabaseOptions], Database], url: str, options: DatabaseOptions
) -> Database:
    try:
        return opening(url, options)
    except availability.UrlUnusable as error:
        raise ConfigurationUnusable(str(error)) from error


def _named_url(settings: Settings, otherwise: str = "") -> str:
    if not settings.database_url:
        raise ConfigurationUnusable(
            f"{files_of(settings.source)} names no database. Set the option 'connection' in "
            f"[placement_database], or name another file with --config-file{otherwise}"
        )
    return settings.database_url


def set_up_logging(source: cfg.ConfigOpts) -> None:
    """Set up logging by [DEFAULT]. Its settings for upstream's loggers apply to Trueup's.

    Raises ConfigurationUnusable.
    """
    try:
        log.setup(source, _PROJECT)
    except (log.LogConfigError, OSError, RuntimeError, ValueError) as error:
        raise ConfigurationUnusable(
            f"logging cannot be set up as [DEFAULT] says: {error}"
        ) from error
    request_log.install()
    logging.captureWarnings(True)
    # Deployments configure the logger 'placement', and silence all others.
    ours = logging.getLogger("trueup")
    ours.parent = logging.getLogger(_PROJECT)
    # The program `trueup` sets a level for its own commands; here [DEFAULT] decides.
    ours.setLevel(logging.NOTSET)
    debug = source.placement_database.connection_debug
    if debug >= _SQL_STATEMENTS:
        level = logging.DEBUG if debug >= _SQL_RESULTS else logging.INFO
        logging.getLogger("sqlalchemy.engine").setLevel(level)
    if source.log_options:
        source.log_opt_values(logging.getLogger(__name__), logging.DEBUG)


def files_of(source: cfg.ConfigOpts) -> str:
    """The files that were read, for messages."""
    read_files = [*(source.config_file or ()), *(source.config_dir or ())]
    return ", ".join(read_files) or f"the environment (no {FILE} was found)"


def _places(environment: Mapping[str, str]) -> tuple[list[str] | None, list[str] | None]:
    """The files and folders to read; None for oslo.config's own places."""
    named = environment.get(FOLDER_VARIABLE, "").strip()
    if not named:
        return None, None
    folders = cfg.find_config_dirs(_PROJECT)
    beside = Path(named) / f"{FILE}.d"
    # PARITY: upstream reads the usual folders, too. Trueup also reads placement.conf.d beside the
    # file, because its creator expects that.
    if beside.is_dir():
        folders = [*folders, str(beside)]
    return [str(Path(named) / FILE)], folders


def _settings_of(source: cfg.ConfigOpts) -> Settings:
    placement, database = source.placement, source.placement_database
    most = placement.max_allocation_candidates
    return Settings(
        auth_strategy=source.api.auth_strategy,
        incomplete_project_id=placement.incomplete_consumer_project_id,
        incomplete_user_id=placement.incomplete_consumer_user_id,
        randomize_candidates=placement.randomize_allocation_candidates,
        candidates_max=most if most >= 0 else None,
        breadth_first=placement.allocation_candidates_generation_strategy == "breadth-first",
        create_schema=database.sync_on_startup,
        database_url=database.connection,
        database=DatabaseOptions(
            parameters=database.connection_parameters,
            pool_size=database.max_pool_size,
            overflow=database.max_overflow,
            pool_timeout_seconds=database.pool_timeout,
            recycle_seconds=database.connection_recycle_time,
            synchronous=database.sqlite_synchronous,
            sql_mode=database.mysql_sql_mode,
            lock_wait_seconds=source.trueup.lock_wait_timeout,
        ),
        cors=dict(source.cors) if source.cors.allowed_origin else None,
        healthcheck=bool(source.healthcheck.backends),
        body_length_max=source.trueup.max_request_body_size,
        metrics=_read_metrics(source.trueup),
        logs_request_time=source.trueup.log_request_time,
        logs_empty_searches=source.trueup.log_empty_searches,
        traces=source.profiler.enabled,
        traces_statements=source.profiler.trace_sqlalchemy,
        behind_proxy=source.oslo_middleware.enable_proxy_headers_parsing,
        source=source,
    )


def _read_metrics(trueup: Any) -> MetricsOptions | None:
    path, folder = trueup.metrics_path, trueup.metrics_folder
    if not path and not folder:
        return None
    if not path:
        raise ValueError("metrics_folder in [trueup] needs metrics_path, such as /metrics")
    if not folder:
        raise ValueError(
            "metrics_path in [trueup] needs metrics_folder: a folder that only the workers of "
            "this service use, such as /run/trueup"
        )
    if not path.startswith("/") or path.endswith("/") or "//" in path:
        raise ValueError(f"metrics_path in [trueup] is '{path}': write it as /metrics")
    return MetricsOptions(path, Path(folder))


def _override(source: cfg.ConfigOpts, group: str, name: str, value: Any) -> None:
    try:
        source.set_override(name, value, group=None if group == "DEFAULT" else group)
    except (cfg.NoSuchOptError, cfg.NoSuchGroupError):
        return
    except ValueError as error:
        raise ConfigurationUnusable(f"{name} in [{group}] is {value!r}: {error}") from error
