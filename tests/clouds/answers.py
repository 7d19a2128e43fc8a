# SPDX-License-Identifier: Apache-2.0
"""Records answers of a real Nova and Neutron, and replays them.

To record again: bring up the cloud that `recordings/README.md` describes, set the `OS_*` variables
of its administrator, and run `python -m tests.clouds.answers every-kind/api UUID...`; it reads what
the readers read, and looks up the servers that are named. What was not asked then is answered with
599, so a reader that asks otherwise has to be recorded again.
"""

import json
import lzma
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import openstack
from keystoneauth1 import adapter, session, token_endpoint

from trueup.lab.serving import serve
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.neutron import Neutron
from trueup.reconcile.sources.nova.api import ANSWERING_CELLS, DOWN_CELLS, NovaApi

RECORDINGS = Path(__file__).parent / "recordings"
NOT_ASKED = "599 Not asked when this was recorded"
# By request: the status and the document.
Answers = dict[str, tuple[int, Any]]


@dataclass
class Recorder:
    """An adapter that records every answer."""

    real: adapter.Adapter
    answers: Answers = field(default_factory=dict)

    def request(self, path: str, method: str, **options: Any) -> Any:
        response = self.real.request(path, method, **options)
        key = key_of(method, path, options.get("microversion") or "")
        self.answers[key] = (response.status_code, response.json())
        return response


def key_of(method: str, path: str, microversion: str) -> str:
    return f"{method} {path} {microversion}".strip()


def load(name: str) -> Answers:
    """The answers of a recording, such as `every-kind/api`."""
    with lzma.open(RECORDINGS / f"{name}.json.xz", "rt", encoding="utf-8") as source:
        return {key: (status, body) for key, (status, body) in json.load(source).items()}


@contextmanager
def replayed(answers: Answers) -> Iterator[adapter.Adapter]:
    """An adapter of a server that gives these answers."""

    def application(environ: dict[str, Any], start_response: Callable) -> list[bytes]:
        query = f"?{environ['QUERY_STRING']}" if environ["QUERY_STRING"] else ""
        asked = parse_qs(environ["QUERY_STRING"])
        version = environ.get("HTTP_OPENSTACK_API_VERSION", "").removeprefix("compute ")
        key = key_of(environ["REQUEST_METHOD"], environ["PATH_INFO"] + query, version)
        not_recorded = (599, {"error": {"message": f"not recorded: {key}"}})
        part = _listed(asked, version, answers) or _ports_of(asked, answers)
        status, body = answers.get(key) or part or not_recorded
        start_response(
            NOT_ASKED if status == 599 else f"{status} As recorded",
            [("Content-Type", "application/json")],
        )
        return [json.dumps(body).encode()]

    with serve(application) as url:
        connected = session.Session(auth=token_endpoint.Token(url, "a-token"), timeout=10)
        yield adapter.Adapter(connected, service_type="compute")


def _listed(
    asked: dict[str, list[str]], version: str, answers: Answers
) -> tuple[int, dict[str, Any]] | None:
    """The list of living servers with one uuid: that part of the list of all, which is recorded."""
    every = answers.get(key_of("GET", "/servers/detail?all_tenants=1", version))
    if every is None or asked.keys() != {"all_tenants", "uuid", "limit"}:
        return None
    rows = [row for row in every[1]["servers"] if [row["id"]] == asked["uuid"]]
    return every[0], {"servers": rows}


def _ports_of(asked: dict[str, list[str]], answers: Answers) -> tuple[int, dict[str, Any]] | None:
    """The ports of some servers: that part of the list of all, which is recorded."""
    every = [one for key, one in answers.items() if key.startswith("GET /v2.0/ports?")]
    if "device_id" not in asked or not every:
        return None
    [(status, body)] = every
    return status, {
        "ports": [row for row in body["ports"] if row["device_id"] in asked["device_id"]]
    }


def record(name: str, uuids: list[str]) -> None:
    """Read everything of the cloud that the environment names, and keep the answers."""
    connection = openstack.connect()
    recorders = {
        kind: Recorder(adapter.Adapter(connection.session, service_type=kind))
        for kind in ("compute", "network")
    }
    nova = NovaApi(recorders["compute"])
    cells = nova.cells()
    for ask in (
        lambda: nova.registry(cells),
        lambda: nova.contents(ANSWERING_CELLS),
        lambda: nova.contents(DOWN_CELLS),
        lambda: nova.lookup(ANSWERING_CELLS, uuids, uuids),
        lambda: Neutron(recorders["network"]).ports(),
    ):
        # An answer that says that something is down is an answer.
        with suppress(Unreachable):
            ask()
    answers = recorders["compute"].answers | recorders["network"].answers
    with lzma.open(RECORDINGS / f"{name}.json.xz", "wt", encoding="utf-8") as target:
        json.dump(answers, target, indent=1, sort_keys=True)


if __name__ == "__main__":
    record(sys.argv[1], sys.argv[2:])
