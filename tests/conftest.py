# SPDX-License-Identifier: Apache-2.0
"""The plugins of the test suite. The docstring of each says what it offers."""

from hypothesis import settings

pytest_plugins = [
    "tests.skips",
    "tests.long",
    "tests.quick",
    "tests.logs",
    "tests.times",
    "tests.memory",
    "tests.servers.fixtures",
    "tests.clouds.fixtures",
]

# No test asserts a time: an example takes as long as it takes on a busy machine.
settings.register_profile("without-deadline", deadline=None)
settings.load_profile("without-deadline")
