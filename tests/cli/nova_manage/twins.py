# SPDX-License-Identifier: Apache-2.0
"""A small cloud on which Nova's own nova-manage and ours run, one after the other."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import text

from tests.cli.nova_manage.neutron import NeutronOfNova
from tests.cli.running import ROOT, Ran, trueup
from trueup.lab.blueprint import Instance, LifecycleState
from trueup.lab.cloud import SmallCloud
from trueup.lab.nova.databases import transaction

Arrange = Callable[[], None]


class Nova:
    """A process of Nova's own program, which runs one command line after the other."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.nova_manage.nova_program"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, words: list[str], databases: list[str]) -> Ran:
        asked = json.dumps({"words": words, "databases": databases})
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(asked + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return Ran(answer["code"], answer["out"], "")

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)


@contextmanager
def nova_process() -> Iterator[Nova]:
    nova = Nova()
    try:
        yield nova
    finally:
        nova.close()


@dataclass(frozen=True)
class Both:
    """What each program printed, and what each left in the ledger and in Neutron."""

    nova: Ran
    ours: Ran
    ledgers: tuple[Any, Any]
    profiles: tuple[Any, Any]


# What Nova's command says of the result, as far as ours says it in the same words.
_RESULTS = re.compile(
    r"(?:Successfully|The allocation of|Instance |Processed|Max count|Deleted|Allocations for).*"
    r"|\[dry-run\] \w+ allocations for instance [0-9a-f-]+",
    re.MULTILINE,
)


def same(both: Both) -> None:
    """Both ended with the same code, left the same, and ours says what Nova's says of it."""
    assert results(both.nova.out) <= results(both.ours.out)
    assert both.ours.code == both.nova.code
    assert both.ledgers[1] == both.ledgers[0]
    assert both.profiles[1] == both.profiles[0]


def results(out: str) -> set[str]:
    return {found for found in _RESULTS.findall(out) if "but no existing" not in found}


@dataclass(frozen=True)
class Twins:
    """The cloud, and both programs."""

    cloud: SmallCloud
    nova: Nova
    neutron: NeutronOfNova

    @property
    def databases(self) -> list[str]:
        return [f"sqlite:///{path}" for path in sorted(self.cloud.folder.glob("nova*.sqlite"))]

    def both(self, *words: str, arrange: Arrange = lambda: None) -> Both:
        """Run a command line with each program, each time after arranging the same."""
        line = ["placement", *words]
        self.keep_alive()
        arrange()
        nova = self.nova.run(["--config-file", str(self.cloud.nova_conf), *line], self.databases)
        after_nova, ports_after_nova = self.ledger(), self.neutron.profiles()
        self.keep_alive()
        arrange()
        ours = self.ours(*words)
        return Both(
            nova, ours, (after_nova, self.ledger()), (ports_after_nova, self.neutron.profiles())
        )

    def ours(self, *words: str) -> Ran:
        """Run ours alone."""
        options = ["--config-file", self.cloud.nova_conf, "placement"]
        try:
            return trueup("nova-manage", *options, *words)
        except SystemExit as end:
            return Ran(int(end.code or 0), "", "")

    def ledger(self) -> dict[str, Any]:
        """What each consumer of Nova's holds, and whose it is; without generations."""
        found = {}
        for instance in self.cloud.blueprint.instances:
            answer = self.cloud.placement.get(f"/allocations/{instance.uuid}")
            held = {
                uuid: dict(sorted(row["resources"].items()))
                for uuid, row in sorted(answer["allocations"].items())
            }
            if held:
                found[instance.uuid] = (held, answer["project_id"], answer["user_id"])
        return found

    def hold(
        self,
        instance: Instance,
        amounts: Mapping[str, Mapping[str, int]] | None = None,
        project: str = "",
        user: str = "",
    ) -> None:
        """Let an instance hold these amounts, or nothing."""
        path = f"/allocations/{instance.uuid}"
        generation = self.cloud.placement.get(path).get("consumer_generation")
        if generation is None and not amounts:
            return
        body = {
            "allocations": {
                uuid: {"resources": dict(row)} for uuid, row in (amounts or {}).items()
            },
            "project_id": project or instance.tenant.project_id,
            "user_id": user or instance.tenant.user_id,
            "consumer_generation": generation,
        }
        self.cloud.placement.put(path, body)

    def right(self, instance: Instance) -> dict[str, dict[str, int]]:
        """What an instance should hold."""
        assert instance.host is not None
        return {instance.host.uuid: instance.resources()}

    def change(self, instance: Instance, **values: Any) -> None:
        """Write columns of the instance's row."""
        assert instance.cell is not None
        columns = ", ".join(f"{name} = :{name}" for name in values)
        with transaction(self.cloud.databases.cell_url(instance.cell.name)) as connection:
            connection.execute(
                text(f"UPDATE instances SET {columns} WHERE uuid = :of"),
                {**values, "of": instance.uuid},
            )

    def keep_alive(self, ago: timedelta = timedelta()) -> None:
        """Let every service report now, or so long ago: Nova's program takes its time."""
        now = datetime.now(UTC).replace(tzinfo=None) - ago
        for cell in self.cloud.blueprint.cells:
            with transaction(self.cloud.databases.cell_url(cell.name)) as connection:
                connection.execute(
                    text("UPDATE services SET updated_at = :now, last_seen_up = :now"),
                    {"now": now.isoformat(" ")},
                )

    def actives(self) -> list[Instance]:
        """Instances that run and nothing is under way with, the oldest first."""
        moved = {move.instance.uuid for move in self.cloud.blueprint.open_moves}
        found = [
            (one.cell.number, one.created_at, one)
            for one in self.cloud.blueprint.instances
            if one.state is LifecycleState.ACTIVE and one.cell and one.uuid not in moved
        ]
        return [one for *_, one in sorted(found, key=lambda row: row[:2])]
