# SPDX-License-Identifier: Apache-2.0
"""Digests stand for states."""

from trueup.reconcile.digests import digest
from trueup.reconcile.steps import ServiceFields


def test_equal_states_have_one_digest_and_nothing_has_none():
    state = ServiceFields(True, "gone", False)
    assert digest(state) == digest(ServiceFields(True, "gone", False))
    assert digest(state) != digest(ServiceFields(False, "gone", False))
    assert digest(None) is None
