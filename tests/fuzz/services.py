# SPDX-License-Identifier: Apache-2.0
"""Both services in this process, on databases with the same content, asked with raw requests."""

import contextlib
import io
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from tests.clouds import damage
from tests.deployment.sites import SIGNS_OF_SQL
from tests.differential.generating import small_ledger
from tests.differential.pair import IN_USE, SWEEP, TwinFactory
from tests.servers import upstream
from tests.servers.placement import NOAUTH
from trueup.placement import app as trueup

ACCESS = {"x-auth-token": "admin", "x-roles": "admin,service"}  # only a service may reshape
NEWEST = {"openstack-api-version": "placement 1.39"}
JSON = {"content-type": "application/json"}
BAD_REQUEST, INTERNAL = 400, 500
UPSTREAMS = f"{upstream.__name__}.sqlite"


@dataclass(frozen=True, slots=True)
class Wire:
    """A request as a server hands it over, sound or not.

    A `length` of None is the true one, and the empty string none at all.
    """

    method: str
    path: str
    query: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    length: str | None = None

    def environ(self) -> dict[str, Any]:
        environ: dict[str, Any] = {
            "REQUEST_METHOD": self.method,
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote_to_bytes(self.path).decode("latin-1"),
            "QUERY_STRING": self.query,
            "SERVER_NAME": "placement.example",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "192.0.2.1",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.errors": io.StringIO(),
            "wsgi.input": io.BytesIO(self.body or b""),
            "wsgi.multithread": False,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        for name, value in {**ACCESS, **self.headers}.items():
            spelled = name.upper().replace("-", "_")
            environ[spelled if spelled == "CONTENT_TYPE" else f"HTTP_{spelled}"] = value
        length = str(len(self.body)) if self.length is None and self.body else self.length
        if length:
            environ["CONTENT_LENGTH"] = length
        elif "transfer-encoding" in self.headers:
            environ["wsgi.input_terminated"] = True
        return environ


@dataclass(frozen=True, slots=True)
class Outcome:
    """The parts of an answer that must be equal."""

    status: int
    code: str | None


class Disagreement(AssertionError):
    """The two services refused differently, or one answered 5xx."""


class Services:
    """Upstream's and ours; each request goes to both."""

    def __init__(self, upstreams: Callable, ours: Callable, swept_url: str | None = None):
        self._upstreams, self.ours, self._swept_url = upstreams, ours, swept_url

    def ask_upstream(self, wire: Wire) -> Outcome:
        outcome = ask(self._upstreams, wire)
        if outcome.status >= BAD_REQUEST and wire.body and self._swept_url:
            damage.execute(self._swept_url, SWEEP)
        return outcome

    def send(self, wire: Wire) -> Outcome:
        """Ours, once it agrees with upstream's; where upstream falls over, ours must refuse."""
        theirs, ours = self.ask_upstream(wire), ask(self.ours, wire)
        falls_over = theirs.status >= INTERNAL
        agreed = ours.status in range(BAD_REQUEST, INTERNAL) if falls_over else ours == theirs
        if not agreed:
            raise Disagreement(f"{wire}\nupstream says {theirs}\ntrueup says {ours}")
        return ours


class ServicesFactory:
    """Makes services on copies of one small ledger."""

    def __init__(self, folder: Path):
        self._folder = folder
        TwinFactory(folder, small_ledger())

    @contextlib.contextmanager
    def services(self) -> Iterator[Services]:
        with contextlib.ExitStack() as stack:
            applications = []
            for make_app in (upstream.make_app, trueup.make_app):
                path = self._folder / f"{make_app.__module__}.sqlite"
                for leftover in self._folder.glob(f"{path.name}*"):
                    leftover.unlink()
                shutil.copyfile(self._folder / IN_USE, path)
                application = make_app(f"sqlite:///{path}", NOAUTH)
                stack.callback(application.close)
                applications.append(application)
            yield Services(*applications, swept_url=f"sqlite:///{self._folder / UPSTREAMS}")


def ask(application: Callable, wire: Wire) -> Outcome:
    started: list[Any] = []

    def start_response(status: str, headers: list[tuple[str, str]], *_rest: Any) -> None:
        started[:] = [int(status.split()[0]), headers]

    try:
        body = b"".join(application(wire.environ(), start_response))
        shown = [sign for sign in SIGNS_OF_SQL if sign.encode() in body]
        if shown and is_ours(application):
            raise Disagreement(f"{wire}\nthe answer shows SQL: {shown}")
    except Disagreement:
        raise
    except Exception as error:  # what a server would answer with 500
        return Outcome(INTERNAL, repr(error))
    return Outcome(started[0], _code(body))


def is_ours(application: Callable) -> bool:
    return isinstance(application, trueup.PlacementApplication)


def _code(body: bytes) -> str | None:
    try:
        return json.loads(body)["errors"][0].get("code")
    except (ValueError, KeyError, TypeError, IndexError):
        return None
