# SPDX-License-Identifier: Apache-2.0
"""`trueup rebuild --apply` is killed; the same command again fills the new database, whole."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clouds.ledger import ledger_in
from tests.kills.site import Site
from tests.kills.tracing import Kill, Tracing
from trueup.lab.nova.databases import sqlite_url

# Between the schema and the last rows, in parts of all calls that write.
PARTS = (0.3, 0.6, 0.8, 0.9)


def words(site: Site, into: Path) -> list[str]:
    old = sqlite_url(site.folder / "placement.sqlite")
    where = ["--nova-database", sqlite_url(site.folder / "nova_api.sqlite"), "--os-cloud", "kills"]
    return [
        "rebuild", *where, "--placement-database", old, "--into", sqlite_url(into), "--apply",
        "--yes",
    ]  # fmt: skip


@pytest.mark.timeout(600)
def test_a_rebuild_that_is_killed_is_done_again(
    site: Callable[[str], Site], tracing: Tracing, tmp_path: Path
):
    running = site("trueup")
    old = ledger_in(running.folder / "placement.sqlite")
    whole = tracing.run(words(running, tmp_path / "whole"), running.environment, command=False)
    assert whole.code in (0, 3), whole.output
    right = ledger_in(tmp_path / "whole")
    killed = 0
    for number, part in enumerate(PARTS):
        into = tmp_path / f"killed{number}"
        at = Kill(int(len(whole.calls) * part), "after")
        killed += tracing.run(words(running, into), running.environment, at, command=False).killed
        again = tracing.run(words(running, into), running.environment, command=False)
        assert again.code == whole.code, again.output
        assert ledger_in(into) == right
    assert ledger_in(running.folder / "placement.sqlite") == old
    # How many calls a run makes varies a little.
    assert killed > len(PARTS) // 2
