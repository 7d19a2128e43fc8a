# SPDX-License-Identifier: Apache-2.0
"""The one place where a test of ours is skipped."""

from typing import NoReturn

import pytest


def skip_without(missing: str) -> NoReturn:
    """Skip a test because this machine lacks what the test needs; say what to install or to do.

    The suite runs on any machine with Python and make, and installs nothing outside its folder: a
    person without MariaDB, libvirtd or root's rights can still run everything else, and is told
    what was left out. No test is skipped unseen: CI installs all of it, runs as root, and fails
    when a test is skipped (`tests.skips`).
    """
    pytest.skip(missing)
