# SPDX-License-Identifier: Apache-2.0
"""Each claim is of exactly one type, the matter of exactly one defect."""

import pytest

from tests.reconcile.planning import facts_of
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.rules import claims
from trueup.reconcile.rules.claims import Claim, all_claims, claim_of

HOSTS = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  host h2 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  host h3 VCPU=8 MEMORY_MB=8192 DISK_GB=100
"""
WEB = "  server web on h1 VCPU=2 MEMORY_MB=256\n"
ON_H1, ON_H2 = "holds web h1 VCPU=2 MEMORY_MB=256\n", "holds web h2 VCPU=2 MEMORY_MB=256\n"
OF_MOVE = "holds resize-of-web h2 VCPU=2 MEMORY_MB=256\n"
NIC = "provider nic of h1 NET_BW_EGR_KILOBIT_PER_SEC=100\n"
OTHER_NIC = "provider other-nic of h1 NET_BW_EGR_KILOBIT_PER_SEC=100\n"
A, B = " traits=CUSTOM_PHYSNET_A\n", " traits=CUSTOM_PHYSNET_B\n"
PORT = f"port p1 of web NET_BW_EGR_KILOBIT_PER_SEC=5 named=nic{A}"
SUITS = NIC.replace("\n", A) + OTHER_NIC.replace("\n", B)
OF_NIC = "holds web nic NET_BW_EGR_KILOBIT_PER_SEC=5\n"
GPU = "provider gpu of h1 VGPU=8\n"


def claim(text: str) -> Claim:
    return claim_of(uuid_of("web"), facts_of(HOSTS + text))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("Right", WEB + ON_H1),
        ("Missing", WEB),
        ("Elsewhere", WEB + ON_H2),
        ("HeldByMigration", WEB + "  resize of web from h2 error\n" + ON_H1 + OF_MOVE),
        ("OnTwoHosts", WEB + ON_H1 + ON_H2),
        ("OnEvacuatedHost", WEB + "  evacuation of web from h2 done\n" + ON_H1 + ON_H2),
        ("OnTwoHosts", WEB + "  live-migration of web from h3 completed\n" + ON_H1 + ON_H2),
        ("OnHostOfMove", WEB + "  live-migration of web from h2 completed\n" + ON_H1 + ON_H2),
        ("Doubled", WEB + "holds web h1 VCPU=4 MEMORY_MB=512\n"),
        ("WrongAmount", WEB + "holds web h1 VCPU=4 MEMORY_MB=256\n"),
        ("WrongAmount", WEB + "holds web h1 VCPU=2 MEMORY_MB=256 DISK_GB=1\n"),
        ("Right", WEB + NIC + PORT + ON_H1 + OF_NIC),
        ("RightAsFarAsKnown", WEB + NIC + ON_H1 + OF_NIC),  # Neutron was not asked
        ("PortsLeaked", WEB + NIC + "neutron\n" + ON_H1 + OF_NIC),
        ("PortsMissing", WEB + NIC + PORT + ON_H1),
        ("PortsMissing", WEB + NIC + PORT + ON_H1 + OF_NIC.replace("=5", "=4")),
        ("PortsMisplaced", WEB + SUITS + PORT + ON_H1 + OF_NIC.replace("nic", "other-nic")),
        ("DevicesMissing", WEB.replace("\n", " resources:VGPU=1\n") + GPU + ON_H1),
        ("WrongDevices", WEB + GPU + ON_H1 + "holds web gpu VGPU=1\n"),
        ("OnNoHost", "  server web state=shelved_offloaded VCPU=2 MEMORY_MB=256\n"),
        ("HeldWithoutHost", "  server web state=shelved_offloaded VCPU=2 MEMORY_MB=256\n" + ON_H1),
        ("Moving", "  server web on h1 task=rebuilding VCPU=2 MEMORY_MB=256\n" + ON_H2),
        ("NotCertain", "  server web on h9 VCPU=2 MEMORY_MB=256\n" + ON_H2),
    ],
)
def test_a_claim_is_of_one_type(kind, text):
    assert type(claim(text)) is getattr(claims, kind)


def test_the_claims_of_a_cloud_are_judged_once():
    facts = facts_of(HOSTS + WEB)
    assert claim_of(uuid_of("web"), facts) is next(iter(all_claims(facts)))
