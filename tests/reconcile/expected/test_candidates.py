# SPDX-License-Identifier: Apache-2.0
"""The query as an operator reads it; tests/differential/test_expected.py compares with Nova."""

from trueup.reconcile.expected import candidate_query
from trueup.reconcile.facts import Flavor

SPECS = {"resources1:VGPU": "1", "trait1:CUSTOM_A": "forbidden", "group_policy": "isolate"}


def test_a_query_has_every_group_and_leaves_disabled_hosts_out():
    flavor = Flavor("a-flavor", 2, 512, 10, 0, 0, SPECS)
    assert candidate_query(flavor, {"trait:CUSTOM_B": "required"}, volume_backed=False) == (
        "group_policy=isolate&required=CUSTOM_B&required1=!CUSTOM_A"
        "&resources=DISK_GB:10,MEMORY_MB:512,VCPU:2&resources1=VGPU:1"
        "&root_required=!COMPUTE_STATUS_DISABLED"
    )
