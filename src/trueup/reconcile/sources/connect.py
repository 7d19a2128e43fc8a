# SPDX-License-Identifier: Apache-2.0
"""Connects to services, as nova.conf or the command line describes them.

Only this module of reconcile uses oslo.config.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from keystoneauth1 import exceptions, loading, noauth, session, token_endpoint
from keystoneauth1.adapter import Adapter
from oslo_config import cfg

from trueup.reconcile.facts import (
    SERVICE_DOWN_AFTER,
    HostDefaults,
    QuotaRules,
    Quotas,
    SchedulerOptions,
)
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.database import Database
from trueup.reconcile.sources.errors import LoginUnusable, SettingMissing, SettingsUnreadable
from trueup.reconcile.sources.limits import LimitEndpoint, own_quotas, unified_limits
from trueup.reconcile.sources.neutron import Neutron
from trueup.reconcile.sources.nova.api import NovaApi
from trueup.reconcile.sources.nova.databases import (
    API_DATABASE,
    BY_MAPPING,
    CellOptions,
    NovaDatabases,
)
from trueup.reconcile.sources.nova.services import ComputeServices
from trueup.reconcile.sources.placement.client import Placement
from trueup.reconcile.sources.placement.database import PlacementDatabase

# Seconds that one request may take. Upstream's service lists 10,000 providers in 2 seconds.
REQUEST_TIMEOUT_SECONDS = 60
# Nova's own defaults of its quotas.
_QUOTAS = {"instances": 10, "cores": 20, "ram": 50 * 1024}
_QUOTA_OPTIONS = (
    cfg.StrOpt("driver", default="nova.quota.DbQuotaDriver"),
    cfg.BoolOpt("count_usage_from_placement", default=False),
    cfg.StrOpt("unified_limits_resource_strategy", default="require"),
    cfg.ListOpt("unified_limits_resource_list", default=["servers"]),
)
_DEDICATED_TOO = "unified_limits_count_pcpu_as_vcpu"
# The sections of options of the scheduler that are not in [filter_scheduler].
_SECTIONS = {
    **dict.fromkeys(
        (
            "enable_isolated_aggregate_filtering",
            "limit_tenants_to_placement_aggregate",
            "placement_aggregate_required_for_tenants",
            "query_placement_for_image_type_support",
            "image_metadata_prefilter",
            "query_placement_for_routed_network_aggregates",
            "max_placement_results",
        ),
        "scheduler",
    ),
    **dict.fromkeys(("default_availability_zone", "allow_resize_to_same_host"), None),
    "disable_fallback_pcpu_query": "workarounds",
}
_KINDS: Mapping[type, Any] = {
    bool: cfg.BoolOpt, int: cfg.IntOpt, str: cfg.StrOpt, tuple: cfg.ListOpt
}  # fmt: skip
# In the order of the fields of LimitEndpoint.
_LIMIT_OPTIONS = (
    "endpoint_id", "endpoint_service_name", "endpoint_service_type", "endpoint_region_name",
    "endpoint_interface",
)  # fmt: skip
_WITHOUT_CATALOG = (token_endpoint.Token, noauth.NoAuth)


@dataclass(frozen=True, slots=True)
class Databases:
    """How Nova's cells are read, and the URL of Placement's database if that is read."""

    cells: CellOptions = BY_MAPPING
    placement_url: str | None = None

    def placement(self) -> PlacementDatabase | None:
        """Raises DatabaseUnusable."""
        return PlacementDatabase(self.placement_url) if self.placement_url else None


AS_CONFIGURED = Databases()


@dataclass(frozen=True, slots=True)
class ConfFiles:
    """Configuration files, and folders of them, in the order in which they are read."""

    files: tuple[Path, ...]
    folders: tuple[Path, ...] = ()

    def __str__(self) -> str:
        return ", ".join(map(str, (*self.files, *self.folders)))


def usual_nova_conf() -> ConfFiles:
    """The files that `nova-manage` reads by default: nova.conf and nova.conf.d, if they exist.

    Raises SettingsUnreadable if neither exists.
    """
    files = cfg.find_config_files(project="nova", prog="nova-manage")
    folders = cfg.find_config_dirs(project="nova", prog="nova-manage")
    if not (files or folders):
        raise SettingsUnreadable("nova.conf", "there is none in ~/.nova, ~, /etc/nova or /etc")
    return ConfFiles(tuple(map(Path, files)), tuple(map(Path, folders)))


def from_nova_conf(path: Path | ConfFiles, databases: Databases = AS_CONFIGURED) -> Cloud:
    """The cloud of this nova.conf: Nova's databases, and other services as Nova reaches them.

    Raises SettingsUnreadable, SettingMissing, DatabaseUnusable.
    """
    path = path if isinstance(path, ConfFiles) else ConfFiles((path,))
    conf = _read(path)
    api_url = _needed(conf, path, "api_database", "connection")
    placement = _adapter(conf, path, "placement")
    if placement is None:
        raise SettingMissing(str(path), "placement", "auth_type")
    neutron = _adapter(conf, path, "neutron")
    return Cloud(
        nova=NovaDatabases(api_url, conf.database.connection, _options(conf, databases)),
        placement=Placement(placement, databases.placement()),
        neutron=Neutron(neutron) if neutron else None,
        compute=ComputeServices(_compute_beside(placement)),
    )


def from_names(
    nova_api_url: str | None, cloud_name: str | None, databases: Databases = AS_CONFIGURED
) -> Cloud:
    """The cloud of this database URL, and of clouds.yaml or the OS_* environment.

    Without a URL of Nova's API database, Nova is read over its API.

    Raises LoginUnusable, DatabaseUnusable.
    """
    with _login(cloud_name) as connect:
        connection = connect()
    return from_connection(connection, nova_api_url, cloud_name, databases)


def from_connection(
    connection: Any,
    nova_api_url: str | None,
    cloud_name: str | None = None,
    databases: Databases = AS_CONFIGURED,
) -> Cloud:
    """The cloud of an openstacksdk connection; else as `from_names`."""
    with _login(cloud_name):
        placement = Placement(_named_adapter(connection, "placement"), databases.placement())
        compute = _named_adapter(connection, "compute")
        neutron = Neutron(_named_adapter(connection, "network"))
    # Without a catalog every service would get the same endpoint.
    has_catalog = not isinstance(connection.session.auth, _WITHOUT_CATALOG)
    named = connection.config.get_endpoint("network")
    return Cloud(
        nova=NovaDatabases(nova_api_url, None, databases.cells)
        if nova_api_url
        else NovaApi(compute),
        placement=placement,
        neutron=neutron if has_catalog or named else None,
        compute=ComputeServices(compute),
    )


def flavors_and_images(cloud_name: str | None) -> tuple[Adapter, Adapter]:
    """Clients of Nova's API and of Glance, of clouds.yaml or the OS_* environment.

    Raises LoginUnusable.
    """
    with _login(cloud_name) as connect:
        connection = connect()
        return _named_adapter(connection, "compute"), _named_adapter(connection, "image")


def placement_at(endpoint: str) -> Placement:
    """A client of a Placement without authentication, such as an embedded one."""
    connected = session.Session(auth=noauth.NoAuth(), timeout=REQUEST_TIMEOUT_SECONDS)
    return Placement(Adapter(connected, service_type="placement", endpoint_override=endpoint))


def placement_reader(endpoint: str, cloud_name: str | None) -> Adapter:
    """A client of the Placement at this address, as the account of clouds.yaml or OS_*.

    Without either it is the administrator of a service that believes every token (noauth2).
    Raises LoginUnusable.
    """
    if cloud_name is None and not any(name.startswith("OS_") for name in os.environ):
        token = token_endpoint.Token(endpoint, "admin")
        connected = session.Session(auth=token, timeout=REQUEST_TIMEOUT_SECONDS)
    else:
        with _login(cloud_name) as connect:
            connected = connect().session
    return Adapter(connected, service_type="placement", endpoint_override=endpoint)


def placement_database(path: Path) -> str:
    """The database that a placement.conf names. Raises SettingsUnreadable, SettingMissing."""
    conf = cfg.ConfigOpts()
    conf.register_opts([cfg.StrOpt("connection", secret=True)], group="placement_database")
    named = ConfFiles((path,))
    _load(conf, named, project="placement")
    return _needed(conf, named, "placement_database", "connection", project="placement")


def host_defaults(path: Path) -> HostDefaults:
    """The reservations and initial ratios of this nova.conf. Raises SettingsUnreadable."""
    conf = cfg.ConfigOpts()
    known = HostDefaults()
    for field in fields(HostDefaults):
        value = getattr(known, field.name)
        kind = cfg.IntOpt if isinstance(value, int) else cfg.FloatOpt
        conf.register_opts([kind(field.name, default=value)])
    _load(conf, ConfFiles((path,)), project="nova")
    return HostDefaults(**{field.name: conf[field.name] for field in fields(HostDefaults)})


def read_quotas(path: Path) -> Quotas:
    """How Nova limits projects: the rules of this nova.conf, Nova's own quotas, Keystone's limits.

    Raises SettingsUnreadable, SettingMissing, DatabaseUnusable, Unreachable, AccessDenied.
    """
    conf, files = cfg.ConfigOpts(), ConfFiles((path,))
    _register_services(conf, {"oslo_limit": "identity"})
    conf.register_opts([cfg.StrOpt("connection", secret=True)], group="api_database")
    conf.register_opts(
        [cfg.IntOpt(name, default=limit) for name, limit in _QUOTAS.items()], group="quota"
    )
    conf.register_opts(_QUOTA_OPTIONS, group="quota")
    conf.register_opts([cfg.StrOpt(name) for name in _LIMIT_OPTIONS], group="oslo_limit")
    conf.register_opts([cfg.BoolOpt(_DEDICATED_TOO, default=False)], group="workarounds")
    _load(conf, files, project="nova")
    rules = QuotaRules(
        unified=conf.quota.driver.endswith(".UnifiedLimitsDriver"),
        from_placement=conf.quota.count_usage_from_placement,
        required=conf.quota.unified_limits_resource_strategy == "require",
        listed=frozenset(conf.quota.unified_limits_resource_list),
        dedicated_too=conf.workarounds[_DEDICATED_TOO],
    )
    keystone = _adapter(conf, files, "oslo_limit")
    if keystone is not None:
        keystone.min_version, keystone.max_version = "3", "3.latest"
    endpoint = LimitEndpoint(*(conf.oslo_limit[name] for name in _LIMIT_OPTIONS))
    database = Database(API_DATABASE, _needed(conf, files, "api_database", "connection"))
    try:
        own = own_quotas(database, {name: conf.quota[name] for name in _QUOTAS})
    finally:
        database.close()
    return Quotas(rules, own, unified_limits(keystone, endpoint) if keystone else None)


def scheduler_of(path: Path) -> tuple[SchedulerOptions, NovaDatabases, Neutron | None]:
    """The options of Nova's scheduler in this nova.conf, Nova's databases, and Neutron if named.

    Raises SettingsUnreadable, SettingMissing, DatabaseUnusable.
    """
    files = ConfFiles((path,))
    conf = _read(files)
    known = SchedulerOptions()
    read: dict[str, Any] = {}
    for field in fields(SchedulerOptions):
        value = getattr(known, field.name)
        section = _SECTIONS.get(field.name, "filter_scheduler")
        kind = _KINDS[type(value)]
        conf.register_opts([kind(field.name, default=value)], group=section)
        with _readable(files, "nova"):
            found = conf[section][field.name] if section else conf[field.name]
        read[field.name] = tuple(found) if isinstance(found, list) else found
    options = SchedulerOptions(**read)
    url = _needed(conf, files, "api_database", "connection")
    nova = NovaDatabases(url, conf.database.connection, _options(conf, AS_CONFIGURED))
    neutron = _adapter(conf, files, "neutron")
    return options, nova, Neutron(neutron) if neutron else None


def _compute_beside(placement: Adapter) -> Adapter:
    """Nova's API in the catalog that the account for Placement gets: nova.conf does not name it."""
    return Adapter(
        placement.session,
        auth=placement.auth,
        service_type="compute",
        interface=placement.interface,
        region_name=placement.region_name,
    )


@contextmanager
def _login(cloud_name: str | None) -> Iterator[Callable[[], Any]]:
    """Around what uses openstacksdk; it hands out what connects. Raises LoginUnusable."""
    # PERF: importing it takes 0.3 s, which a command with a nova.conf does not need.
    import openstack

    try:
        yield partial(openstack.connect, cloud=cloud_name, api_timeout=REQUEST_TIMEOUT_SECONDS)
    except (openstack.exceptions.ConfigException, exceptions.ClientException) as error:
        login = f"cloud '{cloud_name}' of clouds.yaml" if cloud_name else "OS_* environment"
        raise LoginUnusable(login, str(error)) from error


def _named_adapter(connection: Any, service: str) -> Adapter:
    return Adapter(
        connection.session,
        service_type=service,
        interface=connection.config.get_interface(service),
        region_name=connection.config.get_region_name(service),
        endpoint_override=connection.config.get_endpoint(service),
    )


def _read(path: ConfFiles) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    connection = cfg.StrOpt("connection", secret=True)
    conf.register_opts([connection], group="api_database")
    conf.register_opts([connection], group="database")
    down_time = int(SERVICE_DOWN_AFTER.total_seconds())
    conf.register_opts([cfg.IntOpt("service_down_time", default=down_time)])
    _register_services(conf, {"placement": "placement", "neutron": "network"})
    _load(conf, path, project="nova")
    return conf


def _register_services(conf: cfg.ConfigOpts, services: Mapping[str, str]) -> None:
    """The options of sections that name an account for a service; by section, its type."""
    for section, service in services.items():
        loading.register_session_conf_options(conf, section)
        loading.register_auth_conf_options(conf, section)
        loading.register_adapter_conf_options(conf, section)
        # Nova's own defaults for these sections.
        conf.set_default("service_type", service, section)
        conf.set_default("valid_interfaces", ["internal", "public"], section)
        conf.set_default("timeout", REQUEST_TIMEOUT_SECONDS, section)


def _options(conf: cfg.ConfigOpts, databases: Databases) -> CellOptions:
    seconds = timedelta(seconds=conf.service_down_time)
    return replace(databases.cells, service_down_after=seconds)


def _load(conf: cfg.ConfigOpts, path: ConfFiles, project: str) -> None:
    files, folders = list(map(str, path.files)), list(map(str, path.folders))
    with _readable(path, project):
        conf([], project=project, default_config_files=files, default_config_dirs=folders)
        _convert(conf)


def _convert(conf: cfg.ConfigOpts) -> None:
    """Look at every option: a value is converted, and may be refused, when it is asked for."""
    for section in conf.values():
        if isinstance(section, Mapping):
            list(section.values())


@contextmanager
def _readable(path: ConfFiles, project: str) -> Iterator[None]:
    """Raises SettingsUnreadable if a file, or a value in it, is not what oslo.config expects."""
    try:
        yield
    except (cfg.Error, OSError, ValueError) as error:
        reason = str(error).replace("\n", " ")
        raise SettingsUnreadable(str(path), reason, project) from error


def _needed(
    conf: cfg.ConfigOpts, path: ConfFiles, section: str, option: str, project: str = "nova"
) -> str:
    value = conf[section][option]
    if not value:
        raise SettingMissing(str(path), section, option, project, _misspelt(section, path))
    return str(value)


def _misspelt(section: str, path: ConfFiles) -> str:
    """A section with nearly this name; empty: there is no such section."""
    found: dict[str, dict[str, list[str]]] = {}
    for file in path.files:
        cfg.ConfigParser(str(file), found).parse()
    return next(iter(get_close_matches(section, found.keys() - {section}, 1, 0.85)), "")


def _adapter(conf: cfg.ConfigOpts, path: ConfFiles, section: str) -> Adapter | None:
    """A client of the service with Nova's settings, or None if the section has no credentials."""
    try:
        auth = loading.load_auth_from_conf_options(conf, section)
        if auth is None:
            if near := _misspelt(section, path):
                raise SettingMissing(str(path), section, "auth_type", near=near)
            return None
        session = loading.load_session_from_conf_options(conf, section, auth=auth)
        return loading.load_adapter_from_conf_options(conf, section, session=session, auth=auth)
    except exceptions.ClientException as error:
        raise SettingsUnreadable(f"{path} [{section}]", str(error)) from error
