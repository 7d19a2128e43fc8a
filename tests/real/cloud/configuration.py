# SPDX-License-Identifier: Apache-2.0
"""The configuration files of every service, as values, and written down."""

import shutil
from collections.abc import Mapping
from typing import Any

from tests.real.cloud.site import CELL_OF_COMPUTE, CELLS, ENVIRONMENTS, REGION, Site

SERVICE_DOWN_SECONDS = 30
Sections = Mapping[str, Mapping[str, Any]]
# The paste files come with the packages.
_PACKAGED = ENVIRONMENTS / "openstack" / "etc"


def write_configuration(site: Site) -> None:
    """Write every file, for services that are about to be started."""
    for name, sections in _files(site).items():
        path = site.configuration(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(as_text(sections))
    for owner in ("nova", "neutron"):
        shutil.copy(_PACKAGED / owner / "api-paste.ini", site.configuration(owner))
    for part in ("glance/images", "glance/staging", "neutron/locks"):
        site.state(part).mkdir(parents=True, exist_ok=True)


def as_text(sections: Sections) -> str:
    """oslo.config's and uWSGI's format. A list is an option that stands there several times."""
    lines = []
    for section, options in sections.items():
        lines.append(f"[{section}]")
        for option, value in options.items():
            several = value if isinstance(value, list) else [value]
            lines += [f"{option} = {one}" for one in several]
    return "\n".join(lines) + "\n"


def _files(site: Site) -> dict[str, Sections]:
    nova = {
        "nova/nova.conf": nova_sections(site, "controller", "nova")
        | _nova_databases(site, "nova_cell0"),
    }
    for cell in CELLS:
        sections = nova_sections(site, "controller", f"nova_{cell}")
        nova[f"nova/{cell}.conf"] = sections | _nova_databases(site, f"nova_{cell}")
    for compute, cell in CELL_OF_COMPUTE.items():
        nova[f"nova/{compute}.conf"] = nova_sections(site, compute, f"nova_{cell}")
    return {
        "keystone/keystone.conf": _keystone(site),
        "placement/placement.conf": _placement(site),
        "glance/glance-api.conf": _glance(site),
        "neutron/neutron.conf": _neutron(site),
        "neutron/ml2_conf.ini": _NETWORKS,
    } | nova


def account(site: Site, user: str) -> dict[str, Any]:
    return {
        "auth_url": site.identity_url,
        "auth_type": "password",
        "username": user,
        "password": site.password,
        "project_name": "service",
        "user_domain_name": "Default",
        "project_domain_name": "Default",
        "region_name": REGION,
    }


def authentication(site: Site, user: str) -> Sections:
    """How a service checks the tokens of its callers."""
    required = {"service_token_roles": "service", "service_token_roles_required": True}
    own = {"www_authenticate_uri": site.identity_url}
    return {"keystone_authtoken": account(site, user) | own | required}


def _keystone(site: Site) -> Sections:
    fernet = {"key_repository": site.configuration("keystone", "fernet-keys")}
    return {
        "database": {"connection": site.database("keystone")},
        "token": {"provider": "fernet", "expiration": 86400},
        "fernet_tokens": fernet,
        "fernet_receipts": fernet,
        "credential": {"key_repository": site.configuration("keystone", "credential-keys")},
        "cache": {"enabled": True, "backend": "dogpile.cache.memory"},
    }


def _placement(site: Site) -> Sections:
    """One file for upstream's Placement and for ours."""
    return {
        "placement_database": {"connection": site.database("placement")},
        "api": {"auth_strategy": "keystone"},
    } | authentication(site, "placement")


def _glance(site: Site) -> Sections:
    staging = {"filesystem_store_datadir": site.state("glance", "staging")}
    return {
        "DEFAULT": {"enabled_backends": "files:file"},
        "database": {"connection": site.database("glance")},
        "glance_store": {"default_backend": "files"},
        "files": {"filesystem_store_datadir": site.state("glance", "images")},
        "os_glance_staging_store": staging,
        "os_glance_tasks_store": staging,
        "paste_deploy": {
            "flavor": "keystone",
            "config_file": _PACKAGED / "glance" / "glance-api-paste.ini",
        },
    } | authentication(site, "glance")


def _neutron(site: Site) -> Sections:
    unlimited = ("default_quota", "quota_port", "quota_network", "quota_subnet")
    return {
        "DEFAULT": {
            "core_plugin": "ml2",
            "service_plugins": "qos,router",
            "api_paste_config": site.configuration("neutron", "api-paste.ini"),
            "state_path": site.state("neutron"),
            "transport_url": site.messages("neutron"),
            # No agent is there that could be told, and Nova does not wait for one.
            "notify_nova_on_port_status_changes": False,
            "notify_nova_on_port_data_changes": False,
            "dhcp_agent_notification": False,
            "rpc_workers": 0,
        },
        "database": {"connection": site.database("neutron")},
        "oslo_concurrency": {"lock_path": site.state("neutron", "locks")},
        "quotas": dict.fromkeys(unlimited, -1),
        "nova": account(site, "nova"),
        "placement": account(site, "placement"),
    } | authentication(site, "neutron")


_NETWORKS: Sections = {
    "ml2": {
        "type_drivers": "vlan,local",
        "tenant_network_types": "local",
        "mechanism_drivers": "agentless",
        "extension_drivers": "port_security,qos",
    },
    "ml2_type_vlan": {"network_vlan_ranges": "physnet0:100:199"},
}


def _nova_databases(site: Site, own: str) -> Sections:
    return {
        "api_database": {"connection": site.database("nova_api")},
        "database": {"connection": site.database(own)},
    }


def nova_sections(site: Site, host: str, virtual_host: str) -> dict[str, Any]:
    """nova.conf of any Nova service; only those that read databases are told where they are."""
    state = site.state("nova", f"{host}-{virtual_host}")
    for part in ("locks", "instances"):
        (state / part).mkdir(parents=True, exist_ok=True)
    return {
        "DEFAULT": {
            "host": host,
            "my_ip": "127.0.0.1",
            "state_path": state,
            "instances_path": state / "instances",
            "transport_url": site.messages(virtual_host),
            # Its nodes keep their uuid across restarts, as those of real drivers do.
            "compute_driver": "fake.FakeDriverWithoutFakeNodes",
            "report_interval": 5,
            "service_down_time": SERVICE_DOWN_SECONDS,
            # An incident has to be found before nova-compute cleans up part of it by itself. What
            # nova-compute reports, it also reports at its start.
            "update_resources_interval": 7200,
            "sync_power_state_interval": -1,
            "heal_instance_info_cache_interval": -1,
            "running_deleted_instance_action": "noop",
            "vif_plugging_is_fatal": False,
            "vif_plugging_timeout": 0,
            # A resize stays unconfirmed until somebody confirms it.
            "resize_confirm_window": 0,
            "rpc_response_timeout": 90,
        },
        "api": {"local_metadata_per_cell": False},
        "wsgi": {"api_paste_config": site.configuration("nova", "api-paste.ini")},
        "oslo_concurrency": {"lock_path": state / "locks"},
        "vnc": {"enabled": False},
        "quota": dict.fromkeys(("instances", "cores", "ram", "server_groups"), -1),
        "scheduler": {"workers": 1, "max_attempts": 3},
        "conductor": {"workers": 1},
        "placement": account(site, "placement") | {"valid_interfaces": "public"},
        "neutron": account(site, "neutron") | {"service_metadata_proxy": False},
        "service_user": account(site, "nova") | {"send_service_user_token": True},
        "glance": {"region_name": REGION, "valid_interfaces": "public", "num_retries": 1},
    } | authentication(site, "nova")
