# SPDX-License-Identifier: Apache-2.0
"""`placement.deploy:loadapp`, for programs that bring a configuration of their own."""

from typing import Any

from trueup.placement import app, config


def loadapp(config_options: Any, project_name: str | None = None) -> app.PlacementApplication:
    """The application for options that were registered with `placement.conf.register_opts`.

    `project_name` has no meaning, and never lost its place.
    """
    return app.make_service(config.read(config_options))
