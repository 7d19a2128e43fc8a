# SPDX-License-Identifier: Apache-2.0
"""Generations: the counter a client quotes to prove that it saw the present state."""

from enum import Enum
from typing import Final, Literal


class _Unchecked(Enum):
    UNCHECKED = "unchecked"


UNCHECKED: Final = _Unchecked.UNCHECKED
"""The client has no way to say which generation it saw, so none is compared."""

Expected = int | None | Literal[_Unchecked.UNCHECKED]
"""What the client saw: a generation, None for "it does not exist yet", or UNCHECKED."""
