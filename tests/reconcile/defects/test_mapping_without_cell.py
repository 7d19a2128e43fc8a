# SPDX-License-Identifier: Apache-2.0
"""What the scenarios do not show."""

from datetime import timedelta

from tests.reconcile.defects.asking import declined, found, verdicts
from tests.scenarios.drafting import NOW
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import mapping_without_cell

HOST = "cell1\n  host h1 VCPU=8 MEMORY_MB=8192 up\n"
ROW = "map web nowhere age={}\n"


def test_its_age_is_that_of_the_row():
    text = HOST + ROW.format(86400)
    assert found(mapping_without_cell, text).since == NOW - timedelta(days=1)
    assert f"WHERE instance_uuid = '{uuid_of('web')}'" in declined(mapping_without_cell, text)


def test_it_is_left_alone_while_it_is_young_is_built_or_a_hypervisor_has_it():
    for more in (ROW.format(599), f"{ROW.format(86400)}build web\n"):
        assert verdicts(mapping_without_cell, HOST + more) == []
    guest = f"{ROW.format(86400)}guest web on h1 running\n"
    assert verdicts(mapping_without_cell, HOST + guest) == []
