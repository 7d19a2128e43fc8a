# SPDX-License-Identifier: Apache-2.0
"""The web services of OpenStack, under uWSGI."""

from tests.real.cloud.site import ENVIRONMENTS, HOST, program


def uwsgi_command(port: int, module: str, *more: str, threads: int = 8) -> list[str]:
    """A uWSGI with one process. `module` has the WSGI application."""
    return [
        program("openstack", "uwsgi"),
        *("--http-socket", f"{HOST}:{port}"),
        *("--module", f"{module}:application"),
        *("--venv", str(ENVIRONMENTS / "openstack")),
        *("--processes", "1"),
        *("--threads", str(threads)),
        "--master",
        "--enable-threads",
        "--lazy-apps",
        "--need-app",
        "--die-on-term",
        *("--buffer-size", "65535"),
        # uWSGI's own web server forgets that a connection is kept open.
        *("--add-header", "Connection: close"),
        # The access log begins with the time, so that logs can be laid side by side.
        "--log-date",
        *more,
    ]
