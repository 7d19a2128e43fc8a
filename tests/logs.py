# SPDX-License-Identifier: Apache-2.0
"""What a test sets up for the logs of the whole process ends with the test."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("trueup")
    handlers, levels, parent = list(root.handlers), (root.level, ours.level), ours.parent
    yield
    for handler in [handler for handler in root.handlers if handler not in handlers]:
        root.removeHandler(handler)
    root.setLevel(levels[0])
    ours.setLevel(levels[1])
    ours.parent = parent
