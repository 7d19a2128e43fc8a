# SPDX-License-Identifier: Apache-2.0
"""The folder for what must survive a command: journals, keys, the embedded database."""

import os
from pathlib import Path

from platformdirs import user_state_path


def state_folder() -> Path:
    """Return $TRUEUP_STATE_DIR, or the platform's state folder for `trueup`.

    On Linux that is $XDG_STATE_HOME/trueup or ~/.local/state/trueup. The folder need not exist.
    """
    if named := os.environ.get("TRUEUP_STATE_DIR"):
        return Path(named)
    return user_state_path("trueup", appauthor=False)
