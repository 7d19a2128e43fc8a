# SPDX-License-Identifier: Apache-2.0
"""A wheel, installed with each extra alone on a machine with Python and nothing else.

docs/quick-start.md is walked as it stands, against a recorded cloud that this machine serves.
"""

import pytest

from tests.docs.test_console import CLOUD, RUN, renamed
from tests.docs.test_console import commands as console
from tests.fresh.machine import Machine
from tests.fresh.pages import commands
from tests.servers.processes import free_port
from tests.tree import REPOSITORY

PAGE = "docs/quick-start.md"
# What an environment has below its prefix, for `man` and for each shell.
SHARED = (
    "man/man1/trueup.1",
    "man/man1/trueup-audit.1",
    "bash-completion/completions/trueup",
    "fish/vendor_completions.d/trueup.fish",
    "zsh/site-functions/_trueup",
)
NOT_THERE = "Could not load"
# The service on an empty database, asked once as each client asks first.
SERVED = """
import json, subprocess, time, urllib.request
server = subprocess.Popen(["trueup", "serve", "--port", "{port}"])
for _ in range(600):
    try:
        with urllib.request.urlopen("http://127.0.0.1:{port}/") as answer:
            print(json.load(answer)["versions"][0]["max_version"])
            break
    except OSError:
        time.sleep(0.1)
server.terminate()
server.wait()
"""
# What shows that an extra brings what it is for, and what is printed then.
ANSWERS = {
    "reconcile": ("trueup demo", "0 findings."),
    "service": (f"python - <<'END'\n{SERVED}\nEND", "1.39"),
    "mysql": ("python -c 'import pymysql; print(pymysql.__name__)'", "pymysql"),
    "postgresql": ("python -c 'import psycopg; print(psycopg.pq.__impl__)'", "binary"),
    "profiler": ("python -c 'import osprofiler; print(osprofiler.__name__)'", "osprofiler"),
    "osc": (
        "pip install --quiet python-openstackclient && openstack trueup audit --help",
        "usage: openstack trueup audit",
    ),
}


def install(machine: Machine, checkout: str, extra: str) -> str:
    """A new environment with one extra of the wheel; its folder."""
    folder = f"{checkout}-{extra}"
    pip = f"{folder}/bin/pip install --quiet --find-links {checkout}/dist"
    machine.run(f"python3 -m venv {folder} && {pip} 'trueup[{extra}]'")
    return folder


@pytest.fixture(scope="module")
def wheel(machine: Machine, checkout: str) -> str:
    """The checkout whose folder `dist` has the wheel, made as the quick start says."""
    making, *_ = commands(PAGE, "On a controller")
    machine.run(f"cd {checkout} && {making}")
    return checkout


@pytest.mark.parametrize("extra", ANSWERS)
def test_each_extra_alone_brings_what_it_is_for(machine, wheel, extra) -> None:
    folder = install(machine, wheel, extra)
    entered = f". {folder}/bin/activate && "
    command, printed = ANSWERS[extra]
    assert printed in machine.run(entered + command.replace("{port}", str(free_port())))
    # Every command is listed; those that lack a library say which extra brings it.
    assert NOT_THERE not in machine.run(f"{entered}trueup --help")
    for name in SHARED:
        assert (machine.root / f"{folder[1:]}/share/{name}").is_file(), name
    assert "_shtab_trueup" in machine.run(f"{entered}trueup complete")


def test_the_programs_of_the_service_answer(machine: Machine, wheel: str) -> None:
    folder = f"{wheel}-service"
    url = f"sqlite:///{folder}/placement.sqlite"
    given = f"OS_PLACEMENT_DATABASE__CONNECTION={url} {folder}/bin/"
    machine.run(f"{given}trueup-manage db sync")
    assert "a082b8bb98d0" in machine.run(f"{given}trueup-manage db version")
    assert "Success" in machine.run(f"{given}trueup-status upgrade check")


def test_a_controller_without_a_cloud_is_told_what_is_missing(machine, wheel) -> None:
    assert "nova.conf" in machine.run(f"{wheel}-reconcile/bin/trueup audit", code=2)


def test_the_quick_start_as_it_stands(machine: Machine, wheel: str, recorded_cloud) -> None:
    page = (REPOSITORY / PAGE).read_text()
    _, *installing = commands(PAGE, "On a controller")
    machine.run("\n".join(["set -e", f"cd {wheel}", *installing]), "root")
    exported = "\n".join(line for line in installing if line.startswith("export "))
    cloud = recorded_cloud(CLOUD.search(page).group(1), "upstream")
    there = machine.root / "etc/nova/nova.conf"
    there.parent.mkdir()
    there.write_text(cloud.nova_conf.read_text())
    names: dict[str, str] = {}
    for command, expected in console(page):
        found = machine.run(f"{exported}\n{renamed(command, names)}", "root", code=None)
        names |= dict(zip(RUN.findall(expected), RUN.findall(found), strict=True))
        assert found.strip() == renamed(expected, names).strip(), command
