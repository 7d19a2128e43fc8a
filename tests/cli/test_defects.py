# SPDX-License-Identifier: Apache-2.0
"""`trueup defects` lists what is looked for; it needs no cloud."""

from tests.cli.running import trueup
from trueup.reconcile.defects import DEFECTS


def test_every_defect_is_listed_with_its_remedy():
    ran = trueup("defects", "-f", "json")
    assert ran.code == 0
    assert ran.json() == [
        {"Defect": one.NAME, "What it is": one.TITLE, "Remedy": one.REMEDY} for one in DEFECTS
    ]
