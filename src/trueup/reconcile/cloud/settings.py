# SPDX-License-Identifier: Apache-2.0
"""nova.conf, or what stands in its place → connected services. The door of oslo.config."""

from pathlib import Path

import openstack
from keystoneauth1 import exceptions, loading
from keystoneauth1.adapter import Adapter
from oslo_config import cfg

from trueup.reconcile.cloud import Cloud
from trueup.reconcile.cloud.errors import SettingMissing, SettingsUnreadable
from trueup.reconcile.cloud.nova import BY_MAPPING, CellOptions, NovaDatabases
from trueup.reconcile.cloud.placement import Placement

# Seconds one request to a service may take; a provider list of 10,000 hosts takes upstream 2.
REQUEST_TIMEOUT_SECONDS = 60


def from_nova_conf(path: Path, cells: CellOptions = BY_MAPPING) -> Cloud:
    """The cloud that this nova.conf describes: Nova's databases, and Placement as Nova reaches it.

    Raises SettingsUnreadable, SettingMissing, DatabaseUnusable.
    """
    conf = _read(path)
    api_url = _needed(conf, path, "api_database", "connection")
    return Cloud(
        nova=NovaDatabases(api_url, conf.database.connection, cells),
        placement=Placement(_placement_adapter(conf, path)),
    )


def from_names(nova_api_url: str, cloud_name: str | None, cells: CellOptions = BY_MAPPING) -> Cloud:
    """Nova's API database by its URL, Placement through clouds.yaml or the OS_* environment.

    Raises SettingsUnreadable, DatabaseUnusable.
    """
    try:
        connection = openstack.connect(cloud=cloud_name, api_timeout=REQUEST_TIMEOUT_SECONDS)
        adapter = Adapter(
            connection.session,
            service_type="placement",
            interface=connection.config.get_interface("placement"),
            region_name=connection.config.get_region_name("placement"),
            endpoint_override=connection.config.get_endpoint("placement"),
        )
    except (openstack.exceptions.ConfigException, exceptions.ClientException) as error:
        raise SettingsUnreadable(cloud_name or "OS_* environment", str(error)) from error
    nova = NovaDatabases(nova_api_url, None, cells)
    return Cloud(nova=nova, placement=Placement(adapter))


def _read(path: Path) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    connection = cfg.StrOpt("connection", secret=True)
    conf.register_opts([connection], group="api_database")
    conf.register_opts([connection], group="database")
    loading.register_session_conf_options(conf, "placement")
    loading.register_auth_conf_options(conf, "placement")
    loading.register_adapter_conf_options(conf, "placement")
    # As Nova's own defaults for this section.
    conf.set_default("service_type", "placement", "placement")
    conf.set_default("valid_interfaces", ["internal", "public"], "placement")
    conf.set_default("timeout", REQUEST_TIMEOUT_SECONDS, "placement")
    try:
        conf([], project="nova", default_config_files=[str(path)], default_config_dirs=[])
    except (cfg.Error, OSError, ValueError) as error:
        raise SettingsUnreadable(str(path), str(error).replace("\n", " ")) from error
    return conf


def _needed(conf: cfg.ConfigOpts, path: Path, section: str, option: str) -> str:
    value = conf[section][option]
    if not value:
        raise SettingMissing(str(path), section, option)
    return str(value)


def _placement_adapter(conf: cfg.ConfigOpts, path: Path) -> Adapter:
    try:
        auth = loading.load_auth_from_conf_options(conf, "placement")
        if auth is None:
            raise SettingMissing(str(path), "placement", "auth_type")
        session = loading.load_session_from_conf_options(conf, "placement", auth=auth)
        return loading.load_adapter_from_conf_options(conf, "placement", session=session, auth=auth)
    except exceptions.ClientException as error:
        raise SettingsUnreadable(f"{path} [placement]", str(error)) from error
