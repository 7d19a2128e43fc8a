# SPDX-License-Identifier: Apache-2.0
"""The service in a worker of a WSGI server: built from placement.conf and the environment."""

import sys

from trueup.placement import app, config
from trueup.placement.store import migrations


def init_application() -> app.PlacementApplication:
    """The service that placement.conf describes, with logging as [DEFAULT] says.

    Raises ConfigurationUnusable, and what a database without tables says. A database that does not
    answer is waited for. No connection is left open, so a server may fork afterwards.
    """
    source = config.load()
    config.set_up_logging(source)
    try:
        return app.make_service(config.read(source), owns_process=True)
    except (config.ConfigurationUnusable, migrations.UnknownRevision) as error:
        raise config.ConfigurationUnusable(f"{config.files_of(source)}: {error}") from error


def application_or_exit() -> app.PlacementApplication:
    """The same. What an operator has to mend is one sentence on standard error."""
    try:
        return init_application()
    except config.ConfigurationUnusable as error:
        sys.exit(f"trueup: {error}")
