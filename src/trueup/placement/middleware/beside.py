# SPDX-License-Identifier: Apache-2.0
"""Serves one path beside the API, such as that of the metrics."""

from collections.abc import Callable
from typing import Any

ROUTE = "trueup.route"
"""The key of the URL's template in the WSGI environment."""


def beside(api: Any, path: str, answer: Callable[..., Any]) -> Any:
    """The application, with another one for requests of this path."""

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        if environ.get("PATH_INFO", "") != path:
            return api(environ, start_response)
        environ[ROUTE] = path
        return answer(environ, start_response)

    return application
