# SPDX-License-Identifier: Apache-2.0
"""The plugins of the test suite. The docstring of each says what it offers."""

pytest_plugins = ["tests.skips", "tests.quick", "tests.servers.fixtures", "tests.clouds.fixtures"]
