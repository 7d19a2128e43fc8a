# SPDX-License-Identifier: Apache-2.0
"""The Placement service for WSGI servers: `trueup.wsgi:application`.

The first request builds it, from placement.conf and the environment. So each worker of a server
that forks has its own connections, and importing this module has no effects.
"""

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

from trueup.placement import app, config


def init_application() -> app.PlacementApplication:
    """The service that placement.conf describes, with logging as [DEFAULT] says.

    Raises ConfigurationUnusable, and what a database without tables says. A database that does
    not answer is waited for.
    """
    source = config.load()
    config.set_up_logging(source)
    return app.make_service(config.read(source))


class LazyApplication:
    """A WSGI application that is built by its first request.

    If that fails, the server logs why and answers 500, and the next request tries again.
    """

    def __init__(self, build: Callable[[], app.PlacementApplication]):
        self._build, self._building = build, Lock()
        self._built: app.PlacementApplication | None = None

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        return self._get()(environ, start_response)

    def _get(self) -> app.PlacementApplication:
        if self._built is None:
            with self._building:
                if self._built is None:
                    self._built = self._build()
        return self._built


application = LazyApplication(init_application)
