# SPDX-License-Identifier: Apache-2.0
"""placement.conf, read into one frozen Settings.

The options have upstream's names, groups and defaults; options that are not known here are nobody's
mistake and are ignored.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oslo_config import cfg
from oslo_middleware import cors, http_proxy_to_wsgi
from oslo_policy import opts as policy_options

from trueup.placement.store.database import DatabaseOptions

_NOBODY = "00000000-0000-0000-0000-000000000000"

_OPTIONS: dict[str, list[cfg.Opt]] = {
    "api": [
        cfg.StrOpt(
            "auth_strategy",
            default="keystone",
            choices=("keystone", "noauth2"),
            deprecated_group="DEFAULT",
            help="Who says who is asking. noauth2 believes every token: for tests only.",
        ),
    ],
    "placement": [
        cfg.BoolOpt("randomize_allocation_candidates", default=False),
        cfg.StrOpt("incomplete_consumer_project_id", default=_NOBODY),
        cfg.StrOpt("incomplete_consumer_user_id", default=_NOBODY),
        cfg.IntOpt("allocation_conflict_retry_count", default=10),
        cfg.IntOpt("max_allocation_candidates", default=-1),
        cfg.StrOpt(
            "allocation_candidates_generation_strategy",
            default="depth-first",
            choices=("depth-first", "breadth-first"),
        ),
    ],
    "placement_database": [
        cfg.StrOpt("connection", secret=True),
        cfg.StrOpt("connection_parameters", default=""),
        cfg.BoolOpt("sqlite_synchronous", default=True),
        cfg.StrOpt("slave_connection", secret=True),
        cfg.StrOpt("mysql_sql_mode", default="TRADITIONAL"),
        cfg.IntOpt("connection_recycle_time", default=3600),
        cfg.IntOpt("max_pool_size"),
        cfg.IntOpt("max_retries", default=10),
        cfg.IntOpt("retry_interval", default=10),
        cfg.IntOpt("max_overflow"),
        cfg.IntOpt("connection_debug", default=0),
        cfg.BoolOpt("connection_trace", default=False),
        cfg.IntOpt("pool_timeout"),
        cfg.BoolOpt("sync_on_startup", default=False),
    ],
    # Read for the sake of old files: searching never visits what cannot fit.
    "workarounds": [cfg.BoolOpt("optimize_for_wide_provider_trees", default=False)],
    "cors": list(cors.CORS_OPTS),
    "oslo_middleware": list(http_proxy_to_wsgi.OPTS),
}

_ALLOWED_HEADERS = [
    "X-Auth-Token",
    "X-Openstack-Request-Id",
    "X-Identity-Status",
    "X-Roles",
    "X-Service-Catalog",
    "X-User-Id",
    "X-Tenant-Id",
    "OpenStack-API-Version",
]
_EXPOSED_HEADERS = [
    "X-Auth-Token",
    "X-Openstack-Request-Id",
    "X-Subject-Token",
    "X-Service-Token",
    "OpenStack-API-Version",
]


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything the service was told. `source` is for libraries that read options themselves."""

    auth_strategy: str
    incomplete_project_id: str
    incomplete_user_id: str
    randomize_candidates: bool
    candidates_max: int | None
    """None: no limit."""
    breadth_first: bool
    create_schema: bool
    database: DatabaseOptions
    cors: Mapping[str, Any] | None
    """The options of the CORS middleware; None: nobody from another origin may ask."""
    source: Any


def from_mapping(given: Mapping[str, Mapping[str, Any]] | None) -> Settings:
    """Settings from {group: {option: value}}; what is not given has upstream's default."""
    source = cfg.ConfigOpts()
    register(source)
    source([], project="placement", default_config_files=[], default_config_dirs=[])
    for group, options in (given or {}).items():
        for name, value in options.items():
            _override(source, group, name, value)
    return read(source)


def register(source: cfg.ConfigOpts) -> None:
    """Tell oslo.config about every option."""
    for group, options in _OPTIONS.items():
        source.register_opts(options, group=group)
    policy_options.set_defaults(source)
    cors.set_defaults(
        allow_headers=_ALLOWED_HEADERS,
        expose_headers=_EXPOSED_HEADERS,
        allow_methods=["GET", "PUT", "POST", "DELETE", "PATCH"],
    )


def read(source: cfg.ConfigOpts) -> Settings:
    """The values of all options."""
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
        database=DatabaseOptions(
            pool_size=database.max_pool_size,
            overflow=database.max_overflow,
            pool_timeout_seconds=database.pool_timeout,
            recycle_seconds=database.connection_recycle_time,
            synchronous=database.sqlite_synchronous,
            sql_mode=database.mysql_sql_mode,
        ),
        cors=dict(source.cors) if source.cors.allowed_origin else None,
        source=source,
    )


def _override(source: cfg.ConfigOpts, group: str, name: str, value: Any) -> None:
    try:
        source.set_override(name, value, group=None if group == "DEFAULT" else group)
    except (cfg.NoSuchOptError, cfg.NoSuchGroupError):
        return
