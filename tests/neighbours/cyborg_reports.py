# SPDX-License-Identifier: Apache-2.0
"""Runs in Cyborg's environment: its conductor, its database, and the device of its fake driver.

`FILE EVENT…`: FILE is its cyborg.conf. These are events: `found` (the agent of the host reports the
device), `disabled` and `enabled` (as Cyborg's API does it), `gone` (it reports no device any more).
"""

import sys

from cyborg import objects
from cyborg.accelerator.drivers.fake import FakeDriver
from cyborg.common import service  # noqa: F401 - registers the option of the host
from cyborg.conductor.manager import ConductorManager
from cyborg.conf import CONF
from cyborg.context import get_admin_context
from cyborg.db.sqlalchemy import models
from sqlalchemy import create_engine

RESERVED = {"disabled": FakeDriver.NUM_ACCELERATORS, "enabled": 0}


def main(file: str, *events: str) -> None:
    CONF([], project="cyborg", default_config_files=[file])
    models.Base.metadata.create_all(create_engine(CONF.database.connection))
    objects.register_all()
    conductor, context = ConductorManager("cyborg-conductor"), get_admin_context()
    for event in events:
        if event in RESERVED:
            reserve(conductor, RESERVED[event])
        else:
            devices = FakeDriver().discover() if event == "found" else []
            conductor.report_data(context, CONF.host, devices)


def reserve(conductor: ConductorManager, amount: int) -> None:
    """What `openstack accelerator device disable` and `enable` write to Placement."""
    [part] = objects.Deployable.list(get_admin_context())
    conductor.placement_client.update_rp_inventory_reserved(
        part.rp_uuid, "FPGA", part.num_accelerators, amount
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
