# SPDX-License-Identifier: Apache-2.0
"""Builds the service in a worker of a WSGI server, from placement.conf and the environment."""

import sys

from trueup.placement import app, config
from trueup.placement.store import migrations


def init_application() -> app.PlacementApplication:
    """The service of placement.conf, with logging by [DEFAULT].

    Raises ConfigurationUnusable, and the error of a database without tables; a database that does
    not answer is no error. No connection is left open, so a server may fork afterwards.
    """
    source = config.load()
    try:
        config.set_up_logging(source)
        return app.make_service(config.read(source), owns_process=True)
    except (config.ConfigurationUnusable, migrations.UnknownRevision) as error:
        raise config.ConfigurationUnusable(f"{config.files_of(source)}: {error}") from error


def application_or_exit() -> app.PlacementApplication:
    """The service; an error of the configuration ends the process with one line."""
    try:
        return init_application()
    except config.ConfigurationUnusable as error:
        sys.exit(f"trueup: {error}")
