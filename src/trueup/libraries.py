# SPDX-License-Identifier: Apache-2.0
"""A library that is too old, said in a sentence. Needs only the standard library.

pip refuses to install Trueup beside it, but leaves it with a warning where another program of the
same environment is installed later: OpenStack up to 2024.1 pins SQLAlchemy 1.4.
"""

from importlib.metadata import PackageNotFoundError, version

_LIBRARY = "SQLAlchemy"
_FIRST_MAJOR_VERSION = 2


def too_old() -> str | None:
    """What is too old in this environment, and what to do; None if nothing is."""
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
