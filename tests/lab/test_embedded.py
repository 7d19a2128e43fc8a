# SPDX-License-Identifier: Apache-2.0
"""An embedded Placement is empty, answers, and is writable."""

from trueup.lab.embedded import embedded_placement


def test_it_is_empty_and_writable(tmp_path):
    with embedded_placement(tmp_path) as placement:
        assert placement.ledger(lambda *_: None).providers == {}
        response = placement.send("POST", "/resource_providers", {"name": "a provider"})
        assert response.status_code == 200
        assert len(placement.ledger(lambda *_: None).providers) == 1
