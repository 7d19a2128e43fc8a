# SPDX-License-Identifier: Apache-2.0
"""Hosts by state, in one line."""

from dataclasses import replace

from tests.scenarios.reading import read_cloud
from trueup.reconcile.rules.host_states import host_states


def test_each_state_names_its_hosts():
    hosts = "cell1\n  host h1 VCPU=8 up\n  host h2 VCPU=8\n  host h3 disabled VCPU=8 up\n"
    facts = read_cloud(hosts).facts()
    assert host_states(facts).words == "3 hosts: 1 forced down (h2), 1 disabled (h3)."
    silent = tuple(replace(row, forced_down=False) for row in facts.services)
    assert host_states(replace(facts, services=silent)).words.startswith("3 hosts: 1 down (h2)")


def test_of_many_hosts_the_first_are_named():
    hosts = "".join(f"  host h{number:02} VCPU=8\n" for number in range(12))
    words = host_states(read_cloud(f"cell1\n{hosts}").facts()).words
    assert (
        words
        == f"12 hosts: 12 forced down ({', '.join(f'h{n:02}' for n in range(10))} and 2 more)."
    )
    assert (
        host_states(read_cloud("cell1\n  host h1 VCPU=8 up\n").facts()).words == "1 host: all up."
    )
