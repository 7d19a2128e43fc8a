# SPDX-License-Identifier: Apache-2.0
"""All that an instance should hold: what is kept, and when it is not certain."""

import pytest

from tests.reconcile.planning import facts_of
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.expected import Unknown
from trueup.reconcile.facts import Amounts
from trueup.reconcile.reasons import because
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.rules.claims import OnHost, claim_of
from trueup.reconcile.rules.should_hold import host_share_unknown, should_hold

CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  host h2 VCPU=8 MEMORY_MB=8192
  server web on h1 VCPU=2 MEMORY_MB=256
  live-migration of web from h2 completed
provider card1 of h1 CUSTOM_FPGA=1
provider card2 of h2 CUSTOM_FPGA=1
holds web h1 VCPU=2 MEMORY_MB=256
"""
HOST = {uuid_of("h1"): {"VCPU": 2, "MEMORY_MB": 256}}


def should(text: str) -> Amounts | Unknown:
    facts = facts_of(CLOUD + text)
    claim = claim_of(uuid_of("web"), facts)
    assert isinstance(claim, OnHost)
    return should_hold(claim, facts)


def test_a_device_of_its_own_host_that_nothing_asks_for_is_kept():
    card = {uuid_of("card1"): {"CUSTOM_FPGA": 1}}
    other = "holds web card2 CUSTOM_FPGA=1\n"
    assert should("holds web card1 CUSTOM_FPGA=1\n" + other) == HOST | card
    assert should(other) == HOST


def test_it_is_not_certain_whose_a_device_is_that_only_a_migration_holds_here():
    held_by_move = should("holds live-migration-of-web card1 CUSTOM_FPGA=1\n")
    assert held_by_move == Unknown(because("device-of-move-unexplained", classes=("CUSTOM_FPGA",)))
    assert should("holds live-migration-of-web card2 CUSTOM_FPGA=1\n") == HOST


def test_what_it_lacks_may_be_what_it_holds_of_a_pool_that_does_not_share_with_its_host():
    pool = "provider pool MEMORY_MB=9 FPGA=9 sharing\nholds web pool {}=1\n"
    lacking = "holds web h1 VCPU=2\n" + pool
    assert should(lacking.format("MEMORY_MB")) == Unknown(
        because("holds-of-unshared-pool", classes=("MEMORY_MB",), pool="pool")
    )
    assert should(lacking.format("FPGA")) == HOST | {uuid_of("pool"): {"FPGA": 1}}


CARDS = "provider nic1 of h1 NET_BW_EGR=9\nprovider nic2 of h2 NET_BW_EGR=9\n"


@pytest.mark.parametrize(
    ("held", "is_spare"),
    [
        ("holds web nic2 NET_BW_EGR=1\n", False),
        ("holds web nic1 NET_BW_EGR=1\nholds web nic2 NET_BW_EGR=1\n", False),
        ("holds web nic1 NET_BW_EGR=1\nholds web nic2 NET_BW_EGR=1\nholds web h2 VCPU=2\n", False),
        ("holds web nic1 NET_BW_EGR=1\nholds web nic2 NET_BW_EGR=1\nholds web h2 {}\n", True),
        ("holds web nic1 NET_BW_EGR=1\nholds web nic2 NET_BW_EGR=2\nholds web h2 {}\n", False),
        ("holds live-migration-of-web nic2 NET_BW_EGR=1\n", False),
    ],
)
def test_bandwidth_is_spare_only_with_a_whole_second_claim(held, is_spare):
    """Neutron was not read, so it is not known what its ports need."""
    found = should(CARDS + held.format("VCPU=2 MEMORY_MB=256"))
    if is_spare:
        assert found == HOST | {uuid_of("nic1"): {"NET_BW_EGR": 1}}
    else:
        assert isinstance(found, Unknown)
        assert in_words(found.reason).startswith("it may need the NET_BW_EGR that it would lose: ")


def test_nothing_of_a_host_is_spare_where_it_is_not_known_what_it_should_hold():
    odd = "MEMORY_MB=256 hw:cpu_policy=mixed hw:cpu_dedicated_mask=0-x\n"
    text = CLOUD.replace("MEMORY_MB=256\n", odd, 1)
    facts = facts_of(f"{text}provider numa of h1 PCPU=8\n")
    claim = claim_of(uuid_of("web"), facts)
    assert isinstance(claim, OnHost)
    assert isinstance(should_hold(claim, facts), Unknown)
    assert host_share_unknown(claim, facts)
