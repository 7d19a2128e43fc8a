# SPDX-License-Identifier: Apache-2.0
"""Which providers and instances are bare metal, with and without a nova-compute."""

from dataclasses import replace

import pytest

from tests.scenarios.names import uuid_of
from tests.scenarios.reading import read_cloud
from trueup.reconcile.rules.bare_metal import is_bare_metal, is_bare_metal_provider, nodes_moved

CELL = "cell1\n  host h1 VCPU=8 MEMORY_MB=8192 up\n"
NODE = "  host n1 compute=c1 hypervisor=ironic CUSTOM_BM=1\n"
SPECS = "resources:VCPU=0 resources:MEMORY_MB=0 resources:DISK_GB=0 resources:CUSTOM_BM=1"


@pytest.mark.parametrize(
    ("lines", "name", "is_metal"),
    [
        (NODE, "n1", True),
        (f"{NODE}  forget n1\n", "n1", True),
        ("provider n1 CUSTOM_BM=1\n", "n1", True),
        ("provider n1 CUSTOM_BM=2\n", "n1", False),
        ("provider n1 CUSTOM_BM=1 VCPU=8\n", "n1", False),
        ("provider n1 of h1 CUSTOM_BM=1\n", "n1", False),
        ("", "h1", False),
    ],
)
def test_a_provider_is_bare_metal(lines, name, is_metal):
    facts = read_cloud(CELL + lines).facts()
    assert is_bare_metal_provider(facts.providers[uuid_of(name)], facts) is is_metal


@pytest.mark.parametrize(
    ("server", "more", "is_metal"),
    [
        ("on n1 VCPU=2 MEMORY_MB=256", f"{NODE}  forget n1\n", True),
        ("on gone VCPU=2 MEMORY_MB=256", "provider n1 CUSTOM_BM=1\nholds m n1 CUSTOM_BM=1\n", True),
        (f"on gone VCPU=2 MEMORY_MB=256 {SPECS}", "", True),
        ("on gone VCPU=2 MEMORY_MB=256", "", False),
        (f"on h1 VCPU=2 MEMORY_MB=256 {SPECS}", "", False),
    ],
)
def test_an_instance_is_bare_metal(server, more, is_metal):
    facts = read_cloud(f"{CELL}  server m {server}\n{more}").facts()
    assert is_bare_metal(facts.alive[uuid_of("m")], facts) is is_metal


@pytest.mark.parametrize(
    ("more", "target"),
    [("", "HOST"), ("  host n2 compute=c2 hypervisor=ironic up CUSTOM_BM=1\n", "c2")],
)
def test_its_node_goes_to_another_nova_compute_than_that_which_it_leaves(more, target):
    node = NODE.replace("ironic", "ironic up")
    text = f"{CELL}{node}{more}  server m on n1 VCPU=2 MEMORY_MB=256\n"
    facts = read_cloud(text).facts()
    advice = nodes_moved(replace(facts.alive[uuid_of("m")], host="c1"), facts)
    assert f"--destination-host {target}`" in advice
