# SPDX-License-Identifier: Apache-2.0
"""Generations: the counter that a client sends to show that it saw the present state."""

from enum import Enum
from typing import Final, Literal


class _Unchecked(Enum):
    UNCHECKED = "unchecked"


UNCHECKED: Final = _Unchecked.UNCHECKED
"""The microversion of the client sends no generation, so none is compared."""

ExpectedGeneration = int | None | Literal[_Unchecked.UNCHECKED]
"""The generation that a client expects: None for "it does not exist yet", or UNCHECKED."""
