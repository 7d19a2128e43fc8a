# SPDX-License-Identifier: Apache-2.0
"""A path of its own beside the API, such as that of the metrics."""

from collections.abc import Callable
from typing import Any

ROUTE = "trueup.route"
"""The key in the WSGI environment of the template of the URL, once it is found."""


def beside(api: Any, path: str, answer: Callable[..., Any]) -> Any:
    """The application, except that requests for this path get their answer from another one."""

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        if environ.get("PATH_INFO", "") != path:
            return api(environ, start_response)
        environ[ROUTE] = path
        return answer(environ, start_response)

    return application
