# SPDX-License-Identifier: Apache-2.0
"""What each layer around the API costs a small request.

    python -m bench.layers

Builds the service several times, each time with one thing added to or taken from the one before
it, and calls all of them in turns, in this process and without a web server. The figures are
microseconds of processor time for one request. The least of all rounds counts: other work on the
machine only ever adds to it. The log is written to a file.
"""

import argparse
import logging
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from bench.profiling import environ_of
from bench.terminal import say
from tests.deployment import keystone
from trueup.placement import app, config

_UUID = "6b6a5e0c-27a5-4d5c-9d3c-6c2b0b1f2f01"
_PATHS = ("/", f"/resource_providers/{_UUID}")
_NO_AUTHENTICATION = {"auth_strategy": "noauth2"}
_ORIGIN = {"allowed_origin": "https://dashboard.example"}

Options = Mapping[str, Mapping[str, Any]]


class Layer(NamedTuple):
    """The service with some options, compared with the service of another name."""

    name: str
    options: Options
    compared_with: str | None = None
    log_level: int = logging.INFO
    is_inner: bool = False
    """Without request IDs and the request log."""


@dataclass(slots=True)
class Running:
    layer: Layer
    application: Callable[..., Any]
    least_us: dict[str, float]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    with tempfile.TemporaryDirectory() as folder, keystone.keystone() as url:
        _log_to(Path(folder) / "placement.log")
        every = [_running(layer, Path(folder)) for layer in _layers(url, Path(folder))]
        for _ in range(options.rounds):
            for running in every:
                _measure(running, options.requests)
        say(_table(every))
    return 0


def _layers(keystone_url: str, folder: Path) -> Iterator[Layer]:
    plain = {"api": _NO_AUTHENTICATION}
    silent = logging.WARNING
    yield Layer("the API alone", plain, log_level=silent, is_inner=True)
    yield Layer("request IDs", plain, "the API alone", log_level=silent)
    yield Layer("request log", plain, "request IDs")
    check = {"backends": "placement_database"}
    yield Layer("healthcheck", {**plain, "healthcheck": check}, "request log")
    yield Layer("CORS", {**plain, "cors": _ORIGIN}, "request log")
    proxy = {"enable_proxy_headers_parsing": True}
    yield Layer("proxy headers", {**plain, "oslo_middleware": proxy}, "request log")
    metered = {"metrics_path": "/metrics", "metrics_folder": str(folder / "metrics")}
    yield Layer("metrics", {**plain, "trueup": metered}, "request log")
    # For requests that do not ask to be traced.
    traced = {"enabled": True, "trace_sqlalchemy": True, "connection_string": "none://"}
    yield Layer("osprofiler", {**plain, "profiler": traced}, "request log")
    yield Layer("keystone", keystone.settings(keystone_url), "request log")


def _log_to(file: Path) -> None:
    source = config.load(["--log-file", str(file)], environment={})
    config.set_up_logging(source)


def _running(layer: Layer, folder: Path) -> Running:
    options = {group: dict(given) for group, given in layer.options.items()}
    options["placement_database"] = {"sync_on_startup": True}
    name = layer.name.replace(" ", "-")
    whole = app.make_app(f"sqlite:///{folder / name}.sqlite", options)
    body = f'{{"name": "host", "uuid": "{_UUID}"}}'.encode()
    _call(whole, _environ(layer, "POST", "/resource_providers", body))
    application = whole.application if layer.is_inner else whole
    return Running(layer, application, dict.fromkeys(_PATHS, float("inf")))


def _measure(running: Running, requests: int) -> None:
    logging.getLogger("placement").setLevel(running.layer.log_level)
    for path in _PATHS:
        environs = [_environ(running.layer, "GET", path) for _ in range(requests)]
        began = process_time()
        for environ in environs:
            status = _call(running.application, environ)
        each_us = 1e6 * (process_time() - began) / requests
        if status != "200 OK":
            raise RuntimeError(f"{running.layer.name}: {path} was answered with {status}")
        running.least_us[path] = min(running.least_us[path], each_us)


def _environ(layer: Layer, method: str, path: str, body: bytes | None = None) -> dict[str, Any]:
    environ = environ_of(method, path, body, "latest")
    if "keystone_authtoken" in layer.options:
        environ["HTTP_X_AUTH_TOKEN"] = "operator"
    return environ


def _call(application: Callable[..., Any], environ: dict[str, Any]) -> str:
    statuses: list[str] = []
    answer = application(environ, lambda status, *_: statuses.append(status))
    b"".join(answer)
    if hasattr(answer, "close"):
        answer.close()
    return statuses[0]


def _table(every: Sequence[Running]) -> str:
    by_name = {running.layer.name: running for running in every}
    lines = ["| | GET / | show a provider |", "| --- | --: | --: |"]
    for running in every:
        cells = []
        for path in _PATHS:
            least = running.least_us[path]
            other = by_name.get(running.layer.compared_with or "")
            cells.append(
                f"{least:.0f}" if other is None else f"{least - other.least_us[path]:+.0f}"
            )
        lines.append(f"| {running.layer.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.layers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--requests", type=int, default=100, help="of each kind in a round")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
