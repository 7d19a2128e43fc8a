# SPDX-License-Identifier: Apache-2.0
"""Where commands keep what outlives them."""

import os
from pathlib import Path


def state_folder() -> Path:
    """$TRUEUP_STATE_DIR, or trueup in $XDG_STATE_HOME. It need not exist yet."""
    if named := os.environ.get("TRUEUP_STATE_DIR"):
        return Path(named)
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "trueup"
