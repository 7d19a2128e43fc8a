# SPDX-License-Identifier: Apache-2.0
"""The Placement service for WSGI servers: `trueup.wsgi:application`.

It is built as the module is imported, so that a configuration that cannot be used keeps the server
from starting.
"""

import sys
from importlib import import_module
from typing import Any

from trueup.libraries import too_old


def _application() -> Any:
    if refused := too_old():
        sys.exit(f"trueup: {refused}")
    # Imported here: with what is too old it could not be.
    return import_module("trueup.placement.worker").application_or_exit()


application = _application()
