# SPDX-License-Identifier: Apache-2.0
import pytest

from trueup.reconcile.expected import Ambiguous, ExpectedAllocation, Known, NotOurs, Share, Unknown
from trueup.reconcile.expected.comparison import agrees, covers, difference
from trueup.reconcile.reasons import because

FLAVOR = Known("flavor", {"VCPU": 2}, "root")
EITHER = Ambiguous("flavor", {"DISK_GB": 4}, ("disk1", "disk2"))
SECRET = NotOurs("device profile fast", {}, "Cyborg")
UNTOLD = Unknown(because("ports-not-read"))

EXACT = {"root": {"VCPU": 2}}
MORE = {"root": {"VCPU": 2}, "other": {"FPGA": 1}}
LESS = {"root": {"VCPU": 1}, "other": {"VCPU": 1}}


@pytest.mark.parametrize(
    ("parts", "held", "right", "enough"),
    [
        ((FLAVOR,), EXACT, True, True),
        ((FLAVOR,), MORE, False, True),
        ((FLAVOR,), {"root": {"VCPU": 3}}, False, True),
        ((FLAVOR,), LESS, False, False),
        ((FLAVOR,), {}, False, False),
        ((FLAVOR, EITHER), {**EXACT, "disk1": {"DISK_GB": 4}}, True, True),
        ((FLAVOR, EITHER), {**EXACT, "disk2": {"DISK_GB": 4}}, True, True),
        ((FLAVOR, EITHER), {**EXACT, "disk2": {"DISK_GB": 5}}, False, True),
        ((FLAVOR, EITHER), {**EXACT, "disk2": {"DISK_GB": 3}}, False, False),
        ((FLAVOR, EITHER), {**EXACT, "disk3": {"DISK_GB": 4}}, False, False),
        ((FLAVOR, EITHER, EITHER), {**EXACT, "disk2": {"DISK_GB": 4}}, False, False),
        ((FLAVOR, SECRET), MORE, True, True),
        ((FLAVOR, SECRET), EXACT, True, True),
        ((FLAVOR, SECRET), LESS, False, False),
        ((FLAVOR, UNTOLD), MORE, True, False),
        ((FLAVOR, UNTOLD), EXACT, True, False),
        ((FLAVOR, UNTOLD), LESS, False, False),
        ((), {}, True, True),
    ],
)
def test_what_is_held_may_be_right_and_may_be_enough(parts, held, right, enough):
    wanted = ExpectedAllocation("web", parts)
    assert agrees(held, wanted) is right
    assert covers(held, wanted) is enough


NIC = Known("port p1", {"NET_BW": 5}, "nic")
ANY_NIC = Ambiguous("port p2", {"NET_BW": 3}, ("nic", "other"))


@pytest.mark.parametrize(
    ("parts", "held", "lacking", "excess"),
    [
        ((NIC,), {"nic": {"NET_BW": 5, "VCPU": 1}}, (), {}),
        ((NIC,), {}, (NIC,), {}),
        ((NIC,), {"nic": {"NET_BW": 4}}, (NIC,), {"nic": {"NET_BW": 4}}),
        ((NIC,), {"other": {"NET_BW": 5}}, (NIC,), {"other": {"NET_BW": 5}}),
        ((), {"nic": {"NET_BW": 5}}, (), {"nic": {"NET_BW": 5}}),
        # What can only be of one provider is taken from there first.
        ((ANY_NIC, NIC), {"nic": {"NET_BW": 5}}, (ANY_NIC,), {}),
        (
            (ANY_NIC, NIC),
            {"nic": {"NET_BW": 5}, "other": {"NET_BW": 4}},
            (),
            {"other": {"NET_BW": 1}},
        ),
        ((NIC, UNTOLD), {"nic": {"NET_BW": 9}}, (), {}),
    ],
)
def test_what_one_share_lacks_and_has_beyond(parts, held, lacking, excess):
    found = difference(Share.PORTS, held, ExpectedAllocation("web", parts))
    assert (found.lacking, found.excess) == (lacking, excess)
