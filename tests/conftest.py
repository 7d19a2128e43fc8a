# SPDX-License-Identifier: Apache-2.0
"""What every test may use; each plugin's own docstring says what it offers."""

pytest_plugins = ["tests.skips", "tests.quick", "tests.servers.fixtures", "tests.clouds.fixtures"]
