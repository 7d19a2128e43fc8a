# SPDX-License-Identifier: Apache-2.0
"""Back to a cloud without instances after each test, whatever the test left."""

from tests.real.cloud.openstack import Cloud
from tests.real.cloud.processes import DidNotHappen, wait_until
from tests.real.cloud.site import CELL_OF_COMPUTE, CELLS
from tests.real.cloud.tenant import Tenant

_TABLES_OF_INSTANCES = (
    "block_device_mapping",
    "instance_extra",
    "instance_info_caches",
    "instance_system_metadata",
    "instance_metadata",
    "instance_actions_events",
    "instance_actions",
    "instance_faults",
    "migrations",
    "virtual_interfaces",
    "instance_id_mappings",
    "instances",
)


def clean(cloud: Cloud) -> list[str]:
    """Revive hosts, delete instances and ports. The consumers that still hold something then."""
    for host in CELL_OF_COMPUTE:
        if not cloud.processes.is_running(f"nova-compute-{host}"):
            cloud.revive_compute(host)
    servers = list(cloud.connection.compute.servers(all_projects=True))
    Tenant(cloud.connection).delete(*servers)
    for port in cloud.connection.network.ports():
        # Those of routers end with them.
        if not port.device_owner.startswith("network:"):
            cloud.connection.network.delete_port(port)
    return _still_held(cloud)


def _still_held(cloud: Cloud) -> list[str]:
    """nova-compute releases what an instance held a moment after it is gone."""
    consumers = "SELECT DISTINCT consumer_id FROM allocations"
    try:
        wait_until(lambda: not cloud.sql("placement", consumers), "nothing is held", 15)
    except DidNotHappen:
        left = [row[0] for row in cloud.sql("placement", consumers)]
        _purge(cloud)
        return left
    return []


def _purge(cloud: Cloud) -> None:
    """Behind everybody's back, so that one failed test does not fail the next ones."""
    for table in ("allocations", "consumers"):
        cloud.sql("placement", f"DELETE FROM {table}")
    for cell in CELLS:
        for table in _TABLES_OF_INSTANCES:
            off = "SET STATEMENT foreign_key_checks = 0 FOR"
            cloud.sql(f"nova_{cell}", f"{off} DELETE FROM {table}")
    for table in ("instance_mappings", "request_specs", "build_requests"):
        cloud.sql("nova_api", f"DELETE FROM {table}")
