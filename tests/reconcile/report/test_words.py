# SPDX-License-Identifier: Apache-2.0
"""Evidence is put into words in one place."""

import pytest

from trueup.reconcile.report.words import evidence_in_words
from trueup.reconcile.verdicts import holding


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("text", "text"),
        (3, "3"),
        (None, ""),
        ((), "nothing"),
        (
            {"name": "web", "vm_state": "active", "host": "h1", "age": None},
            "web, vm state active, host h1",
        ),
        (({"status": "done", "source_host": "h1"},), "status done, source host h1"),
        (
            holding({"u1": {"VCPU": 1}, "u2": {"DISK_GB": 3, "VCPU": 2}}, {"u2": "alpha"}),
            "VCPU=2 DISK_GB=3 on alpha; VCPU=1 on u1",
        ),
    ],
)
def test_each_kind_of_value_has_its_words(value, words):
    assert evidence_in_words({"should_hold": value}) == {"should hold": words}
