# SPDX-License-Identifier: Apache-2.0
"""Detects a library that is too old, or missing. Needs only the standard library.

pip refuses to install Trueup beside it, but only warns when another program that needs it is
installed later into the same environment: OpenStack up to 2024.1 pins SQLAlchemy 1.4.
"""

from importlib.metadata import PackageNotFoundError, version

_LIBRARY = "SQLAlchemy"
_FIRST_MAJOR_VERSION = 2
# The module of a database's driver → the extra that installs it.
_EXTRAS = {"MySQLdb": "mysqlclient", "psycopg": "postgresql", "pymysql": "mysql"}


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


def driver_missing(error: ModuleNotFoundError) -> str:
    """Which driver of a database is missing, and the remedy if Trueup has one."""
    extra = _EXTRAS.get(error.name or "")
    how = f": pip install 'trueup[{extra}]'" if extra else ""
    return f"the driver '{error.name}' is not installed{how}"
