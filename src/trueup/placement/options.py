# SPDX-License-Identifier: Apache-2.0
"""The options of placement.conf: upstream's names, groups and defaults, with Trueup's own help."""

from pathlib import Path

from oslo_config import cfg
from oslo_middleware import cors, http_proxy_to_wsgi
from oslo_middleware.healthcheck import opts as healthcheck

_NOBODY = "00000000-0000-0000-0000-000000000000"

OPTIONS: dict[str, list[cfg.Opt]] = {
    "DEFAULT": [
        cfg.BoolOpt(
            "log_options",
            default=True,
            help="Log the value of every option at the start, at the level DEBUG.",
        ),
        cfg.StrOpt("tempdir", help="Accepted for old files; has no effect."),
        cfg.StrOpt(
            "pybasedir",
            default=str(Path(__file__).parents[2]),
            sample_default="<Path>",
            help="The folder of the installed modules, for references from other options.",
        ),
        cfg.StrOpt(
            "state_path",
            default="$pybasedir",
            help="For references from other options; the service itself keeps no state.",
        ),
    ],
    "api": [
        cfg.StrOpt(
            "auth_strategy",
            default="keystone",
            choices=("keystone", "noauth2"),
            deprecated_group="DEFAULT",
            help="How callers are authenticated. noauth2 accepts every token: for tests only.",
        ),
    ],
    "placement": [
        cfg.BoolOpt(
            "randomize_allocation_candidates",
            default=False,
            help="Return allocation candidates in random order, so that equal hosts fill evenly.",
        ),
        cfg.StrOpt(
            "incomplete_consumer_project_id",
            default=_NOBODY,
            help="The project of consumers written by microversions before 1.8.",
        ),
        cfg.StrOpt(
            "incomplete_consumer_user_id",
            default=_NOBODY,
            help="The user of consumers written by microversions before 1.8.",
        ),
        cfg.IntOpt(
            "allocation_conflict_retry_count",
            default=10,
            help="Accepted for old files; has no effect: whole transactions start again instead.",
        ),
        cfg.IntOpt(
            "max_allocation_candidates",
            default=-1,
            help="The most candidates for one request; -1: no limit.",
        ),
        cfg.StrOpt(
            "allocation_candidates_generation_strategy",
            default="depth-first",
            choices=("depth-first", "breadth-first"),
            help="The order in which hosts are visited when the number of candidates is limited.",
        ),
    ],
    "placement_database": [
        cfg.StrOpt("connection", secret=True, help="The URL of the database. Required."),
        cfg.StrOpt(
            "connection_parameters",
            default="",
            help="Parameters to add to the query of the URL: name=value&name=value.",
        ),
        cfg.BoolOpt("sqlite_synchronous", default=True, help="Whether SQLite waits for the disk."),
        cfg.StrOpt(
            "slave_connection",
            secret=True,
            help="Accepted and, as by upstream, not used: reads must see every write.",
        ),
        cfg.StrOpt(
            "mysql_sql_mode",
            default="TRADITIONAL",
            help="The SQL mode of MySQL sessions; empty: the server's own.",
        ),
        cfg.IntOpt(
            "connection_recycle_time",
            default=3600,
            help="Seconds after which a pooled connection is replaced.",
        ),
        cfg.IntOpt("max_pool_size", help="Connections that each worker keeps open."),
        cfg.IntOpt(
            "max_retries",
            default=10,
            help="Accepted: a service that starts without its database answers 503 and recovers.",
        ),
        cfg.IntOpt("retry_interval", default=10, help="Accepted, see max_retries."),
        cfg.IntOpt(
            "max_overflow",
            min=-1,
            help="Temporary connections above max_pool_size; -1: no limit.",
        ),
        cfg.IntOpt(
            "connection_debug",
            default=0,
            help="How much SQL is logged: statements from 50 on, and their results from 100 on.",
        ),
        cfg.BoolOpt(
            "connection_trace", default=False, help="Accepted for old files; has no effect."
        ),
        cfg.IntOpt("pool_timeout", min=0, help="Seconds to wait for a pooled connection."),
        cfg.BoolOpt(
            "sync_on_startup",
            default=False,
            help="Upgrade the schema when the service starts, as 'db sync' does.",
        ),
    ],
    "trueup": [
        cfg.IntOpt(
            "lock_wait_timeout",
            default=10,
            min=1,
            help="Seconds that a write waits for a lock of another database session before it "
            "is refused with 503. Only Trueup has this option.",
        ),
        cfg.IntOpt(
            "max_request_body_size",
            default=8 * 1024 * 1024,
            min=1,
            help="The most bytes of a request body; longer ones get 413. Only Trueup has this "
            "option.",
        ),
        cfg.StrOpt(
            "metrics_path",
            help="Serve metrics for Prometheus at this path, such as /metrics, without a token. "
            "Keep the path private. Needs metrics_folder. Only Trueup has this option.",
        ),
        cfg.StrOpt(
            "metrics_folder",
            help="The folder in which workers keep their metrics, for this service alone, in "
            "memory (/run) if possible. Only Trueup has this option.",
        ),
        cfg.BoolOpt(
            "log_empty_searches",
            default=False,
            help="Log why a search for allocation candidates found nothing, at the level INFO, "
            "for 'trueup page --log'. Only Trueup has this option.",
        ),
        cfg.BoolOpt(
            "log_request_time",
            default=False,
            help="End each line of the request log with the response time in seconds, as Nova "
            "does: 'time: 0.001234'. Only Trueup has this option.",
        ),
    ],
    "workarounds": [
        cfg.BoolOpt(
            "optimize_for_wide_provider_trees",
            default=False,
            help="Accepted for old files; has no effect: a search never visits full providers.",
        )
    ],
    # osprofiler's options, declared here because it is imported only if `enabled`.
    "profiler": [
        cfg.BoolOpt(
            "enabled",
            default=False,
            deprecated_name="profiler_enabled",
            help="Trace the requests that have osprofiler's headers. Needs osprofiler.",
        ),
        cfg.BoolOpt(
            "trace_sqlalchemy",
            default=False,
            help="Trace the SQL statements of these requests as well.",
        ),
        cfg.BoolOpt(
            "trace_requests",
            default=False,
            help="Trace HTTP requests that the service itself sends: those for tokens.",
        ),
        cfg.StrOpt(
            "hmac_keys",
            default="SECRET_KEY",
            secret=True,
            help="Keys, separated by commas; only requests signed with one of them are traced. "
            "The default is public: choose others.",
        ),
        cfg.StrOpt(
            "connection_string",
            default="messaging://",
            help="The destination of traces: messaging://, redis://HOST:PORT, otlp://HOST:PORT "
            "(for OpenTelemetry), or another driver of osprofiler.",
        ),
        cfg.StrOpt(
            "es_doc_type", default="notification", help="The type of documents in Elasticsearch."
        ),
        cfg.StrOpt(
            "es_scroll_time", default="2m", help="How long Elasticsearch keeps a search open."
        ),
        cfg.IntOpt(
            "es_scroll_size", default=10000, help="The largest batch of a search in Elasticsearch."
        ),
        cfg.FloatOpt(
            "socket_timeout", default=0.1, help="Seconds to wait for a connection to redissentinel."
        ),
        cfg.StrOpt(
            "sentinel_service_name",
            default="mymaster",
            help="The name of the service that redissentinel watches.",
        ),
        cfg.BoolOpt(
            "filter_error_trace",
            default=False,
            help="Store traces with errors a second time, in a separate place.",
        ),
    ],
    "profiler_otlp": [
        cfg.StrOpt(
            "service_name_prefix",
            help="The prefix of the service's name in OpenTelemetry.",
        )
    ],
    "cors": list(cors.CORS_OPTS),
    "healthcheck": list(healthcheck.HEALTHCHECK_OPTS),
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


def list_options() -> list[tuple[str, list[cfg.Opt]]]:
    """Every option by its group, for oslo-config-generator and oslo-config-validator."""
    return list(OPTIONS.items())


def set_library_defaults() -> None:
    """Set the headers and methods of Placement as the defaults of CORS."""
    cors.set_defaults(
        allow_headers=_ALLOWED_HEADERS,
        expose_headers=_EXPOSED_HEADERS,
        allow_methods=["GET", "PUT", "POST", "DELETE", "PATCH"],
    )
