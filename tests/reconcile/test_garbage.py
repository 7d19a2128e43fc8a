# SPDX-License-Identifier: Apache-2.0
"""Garbage is left where it is for a while, and only then."""

import gc

import pytest

from trueup.reconcile.garbage import garbage_left


def test_garbage_is_left_inside_and_collected_afterwards():
    with garbage_left():
        assert not gc.isenabled()
        with garbage_left():
            assert not gc.isenabled()
        assert not gc.isenabled(), "whoever had it off finds it off"
    assert gc.isenabled()


def test_what_fails_inside_leaves_it_on():
    with pytest.raises(LookupError), garbage_left():
        raise LookupError
    assert gc.isenabled()
