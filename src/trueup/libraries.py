# SPDX-License-Identifier: Apache-2.0
"""Detects a library that is too old. Needs only the standard library.

pip refuses to install Trueup beside it, but only warns when another program that needs it is
installed later into the same environment: OpenStack up to 2024.1 pins SQLAlchemy 1.4.
"""

from importlib.metadata import PackageNotFoundError, version

_LIBRARY = "SQLAlchemy"
_FIRST_MAJOR_VERSION = 2


def too_old() -> str | None:
    """The old library of this environment and the remedy, as a sentence; None if there is none."""
    try:
        found = version(_LIBRARY)
    except PackageNotFoundError:
        return None
    if int(found.partition(".")[0]) >= _FIRST_MAJOR_VERSION:
        return None
    return (
        f"{_LIBRARY} {found} is installed here, and Trueup needs {_FIRST_MAJOR_VERSION}.0 "
        "or later: install Trueup into an environment of its own."
    )
