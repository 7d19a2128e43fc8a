# SPDX-License-Identifier: Apache-2.0
"""`make releases` runs the tests of this folder, and nothing else does.

They need old releases of Python: python3.8, python3.9 and python3.10 on PATH. Without one, its
releases are skipped.
"""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--releases", action="store_true", help="run the tests of tests/releases")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    ours = collection_path.parent == HERE and collection_path.name.startswith("test_")
    return True if ours and not config.getoption("--releases", default=False) else None
