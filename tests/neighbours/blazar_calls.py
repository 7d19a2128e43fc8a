# SPDX-License-Identifier: Apache-2.0
"""Runs in Blazar's environment: `FILE CALL…` calls its Placement client as its plugins do.

FILE is its blazar.conf. A CALL is a JSON list: a method of the client, and its arguments.
"""

import json
import sys

from blazar import config  # noqa: F401 - registers the options of the login
from blazar.utils.openstack import keystone  # noqa: F401 - and the region's
from blazar.utils.openstack.placement import CONF, BlazarPlacementClient


def main(file: str, *calls: str) -> None:
    CONF([], project="blazar", default_config_files=[file])
    client = BlazarPlacementClient()
    for call in calls:
        method, *arguments = json.loads(call)
        getattr(client, method)(*arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
