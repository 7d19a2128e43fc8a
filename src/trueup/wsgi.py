# SPDX-License-Identifier: Apache-2.0
"""The Placement service for WSGI servers: `trueup.wsgi:application`.

It is built at the import of the module, so that an unusable configuration keeps the server
from starting.
"""

import sys
from importlib import import_module
from typing import Any

from trueup.libraries import too_old


def _application() -> Any:
    if refused := too_old():
        sys.exit(f"trueup: {refused}")
    # Imported here, because an old library would break the import.
    return import_module("trueup.placement.worker").application_or_exit()


application = _application()
