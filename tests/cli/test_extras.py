# SPDX-License-Identifier: Apache-2.0
"""A half that is not installed is told by the extra that brings it, also from within a command."""

import pytest

from tests.cli.running import trueup
from trueup import lab


@pytest.mark.parametrize(
    ("missing", "extra"),
    [("falcon", "service"), ("openstack", "reconcile"), ("msgspec", "reconcile")],
)
def test_a_demo_without_a_half_says_how_to_install_it(monkeypatch, missing, extra):
    def no_cloud(*arguments, **options):
        raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

    monkeypatch.setattr(lab, "small_cloud", no_cloud)
    ran = trueup("demo")
    assert ran.code == 2
    assert f"trueup: this command needs '{missing}': pip install 'trueup[{extra}]'." in ran.err
