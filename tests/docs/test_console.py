# SPDX-License-Identifier: Apache-2.0
"""Every console block of docs/ runs, in order, and prints what the page says.

A page names the recorded cloud its commands run on: `<!-- cloud: evacuated -->`, and with
`<!-- nova: services, empty: devstack3 -->` its Nova lets compute services be deleted, and that host
is empty. With `<!-- renamed: cell1 devstack1 new-name INSTANCE -->` a host was renamed; see
`tests.clouds.renaming`. With
TRUEUP_REWRITE_PAGES=1 the pages get what the commands print now; read it before you keep it.
"""

import contextlib
import io
import os
import re
import shlex
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

import pytest

from tests.cli.running import ROOT
from tests.cli.signers import Signers
from tests.clouds.cloud import RecordedCloud
from tests.clouds.loading import keep_alive
from tests.clouds.neutron import recorded_neutron
from tests.clouds.renaming import rename_host
from tests.kills.hypervisor import MISSING, hypervisor
from tests.servers.domains import define, node_of
from tests.servers.skipping import skip_without
from trueup.cli.main import main
from trueup.reconcile.collect import collect
from trueup.reconcile.facts import grouped
from trueup.reconcile.sources.connect import from_nova_conf

CLOUD = re.compile(r"<!-- cloud: (\S+) -->")
# The hypervisor of this host also has a shut-off domain of Nova's with this uuid.
GHOST = re.compile(r"<!-- ghost: (\S+) (\S+) -->")
# There is a placement.conf beside, with the cloud's database.
CONF = "<!-- placement.conf -->"
# The page shows a file, which is in the folder of its commands.
FILE = re.compile(r"^<!-- file: (\S+) -->\n+```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
# In that folder is the SSH key of a person, who is an allowed signer.
SIGNER = re.compile(r"<!-- signer: (\S+) -->")
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
NOVA = re.compile(r"<!-- nova: services(?:, empty: (\S+))? -->")
RENAMED = re.compile(r"<!-- renamed: (\S+) (\S+) (\S+) (\S+) -->")
NEUTRON = "<!-- neutron: recorded -->"
# Compute services report, which stand still in a recording and so count as down.
UP = "<!-- services: up -->"
# Said because the two observations of a page follow each other at once; a reader waits a minute.
SHORT = re.compile(r"^The observations may be only 0\.01 s apart.*\n", re.MULTILINE)
RUN = re.compile(r"\d{8}T\d{6}-[0-9a-f]{8}")
PAGES = [path for path in sorted((ROOT / "docs").rglob("*.md")) if CLOUD.search(path.read_text())]


class ClockOfThePages(datetime):
    """It starts half a day after the clouds were recorded: pages say how old things are."""

    _STARTED = time.monotonic()

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        passed = timedelta(seconds=time.monotonic() - cls._STARTED)
        return datetime(2026, 11, 21, 12, tzinfo=tz) + passed


def commands(page: str) -> Iterator[tuple[str, str]]:
    """Each command of a page's console blocks, with what it says is printed."""
    for block in BLOCK.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


def renamed(text: str, names: dict[str, str]) -> str:
    """The text with the runs of the page replaced by the runs of this test."""
    return RUN.sub(lambda run: names[run.group()], text)


def renamed_back(text: str, names: dict[str, str]) -> str:
    """The text with the runs of this test replaced by the runs of the page."""
    back = {run: name for name, run in names.items() if run != name}
    return RUN.sub(lambda run: back.get(run.group(), run.group()), text)


@pytest.fixture
def libvirtd() -> Iterator[str]:
    with hypervisor() as uri:
        if not uri:
            skip_without(MISSING)
        yield uri


def ask_hypervisors(
    nova_conf: Path, ghost: tuple[str, str], libvirtd: str, patch: pytest.MonkeyPatch
) -> None:
    """Let every host have the domains of its instances; one host, a libvirtd, has a ghost too."""
    haunted, uuid = ghost
    cloud = from_nova_conf(nova_conf)
    facts = collect(cloud, lambda *_: None)
    cloud.close()
    guests = grouped((row.host, row.uuid) for row in facts.alive.values() if row.host)
    define(libvirtd, uuid)
    for number, other in enumerate(guests[haunted]):
        define(libvirtd, other, running=True, name=f"instance-{number}")

    def uri(_: object, host: str) -> str:
        if host == haunted:
            return libvirtd
        path = nova_conf.parent / f"{host}.xml"
        path.write_text(node_of(guests.get(host, ())))
        return f"test://{path}"

    patch.setattr("trueup.reconcile.sources.libvirt.Hypervisors.uri", uri)


def as_in_a_console(patch: pytest.MonkeyPatch, nova_conf: Path, folder: Path) -> None:
    """Let commands run in this folder as in a console of the pages' width, at the pages' time."""
    patch.setenv("TRUEUP_NOVA_CONF", str(nova_conf))
    patch.setenv("TRUEUP_STATE_DIR", str(folder / "state"))
    patch.setenv("CLIFF_FIT_WIDTH", "1")
    patch.setenv("COLUMNS", "120")
    patch.setattr("trueup.cli.outcomes.INTERVAL_SECONDS", 0.01)
    patch.setattr("trueup.cli.commands.watch.INTERVAL_SECONDS", 0.01)
    patch.setattr("trueup.cli.nova_manage.job.INTERVAL_SECONDS", 0.01)
    patch.setattr("trueup.reconcile.clock.datetime", ClockOfThePages)
    patch.chdir(folder)


def write_files(page: str, folder: Path) -> None:
    """The files that a page shows, and the keys of those who sign on it."""
    for name, content in FILE.findall(page):
        (folder / name).write_text(content)
    for name in SIGNER.findall(page):
        Signers(folder).key(name)


def let_report(cloud: RecordedCloud, page: str) -> None:
    for url in cloud.cell_urls.values() if UP in page else ():
        keep_alive(url, "nova-compute")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_prints_what_it_says(path, recorded_cloud, tmp_path, monkeypatch, request):
    page = path.read_text()
    nova = NOVA.search(page)
    renamed_host = RENAMED.search(page)
    own_cells = bool(nova or renamed_host or UP in page)
    cloud = recorded_cloud(CLOUD.search(page).group(1), "upstream", own_cells=own_cells)
    let_report(cloud, page)
    if renamed_host:
        rename_host(cloud, *renamed_host.groups())
    if nova:
        services = request.getfixturevalue("services_beside")(cloud)
        services.empty(nova.group(1))
    if NEUTRON in page:
        neutron = contextlib.ExitStack()
        neutron.enter_context(recorded_neutron(cloud.name, cloud.nova_conf))
        request.addfinalizer(neutron.close)
    as_in_a_console(monkeypatch, cloud.nova_conf, tmp_path)
    if CONF in page:
        connection = f"[placement_database]\nconnection = {cloud.placement_database_url}\n"
        (tmp_path / "placement.conf").write_text(connection)
    write_files(page, tmp_path)
    if haunted := GHOST.search(page):
        libvirtd = request.getfixturevalue("libvirtd")
        ask_hypervisors(cloud.nova_conf, haunted.groups(), libvirtd, monkeypatch)
    names: dict[str, str] = {}
    rewritten = page
    for command, expected in commands(page):
        program, *words = shlex.split(renamed(command, names))
        assert program == "trueup", command
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            main(words)
        found = SHORT.sub("", printed.getvalue())
        # The names of runs hold the time; the page's names stand for them, in order.
        reported = dict.fromkeys(RUN.findall(expected))
        if os.environ.get("TRUEUP_REWRITE_PAGES"):
            rewritten = rewritten.replace(f"$ {command}\n{expected}", f"$ {command}\n{found}")
            names |= {run: run for run in RUN.findall(found)}
            names |= dict(zip(reported, dict.fromkeys(RUN.findall(found)), strict=False))
            continue
        names |= dict(zip(reported, dict.fromkeys(RUN.findall(found)), strict=True))
        assert found.strip() == renamed(expected, names).strip(), f"$ {command}\n{found}"
    if os.environ.get("TRUEUP_REWRITE_PAGES"):
        path.write_text(renamed_back(rewritten, names))


def test_there_are_pages_to_run() -> None:
    assert Path("docs/repair.md") in [path.relative_to(ROOT) for path in PAGES]
