# SPDX-License-Identifier: Apache-2.0
"""packaging/ansible on a machine with upstream's Placement in a virtual environment."""

import json
import re
from collections.abc import Callable

import pytest

from tests.docs.test_blocks import section
from tests.fresh.machine import ACCOUNT, Machine
from tests.servers.processes import free_port
from tests.tree import REPOSITORY

HOME = f"/home/{ACCOUNT}"
ENVIRONMENT = f"{HOME}/placement"
INVENTORY = """\
[placement]
localhost ansible_connection=local ansible_become=false

[trueup_watch]
localhost
"""
CONF = f"""\
[placement_database]
connection = sqlite:///{HOME}/placement.sqlite
[api]
auth_strategy = noauth2
"""
START = """\
#!/bin/sh
test -e {home}/pid && exit 0
export OS_PLACEMENT_CONFIG_DIR={home}/etc
exec {environment}/bin/uwsgi --module placement.wsgi.api:application --master --enable-threads \
    --need-app --http-socket 127.0.0.1:{port} --add-header "Connection: close" --die-on-term \
    --pidfile {home}/pid --daemonize {home}/log
"""
# Nobody waits for a daemon on a machine without an init, so that it stays as a zombie.
STOP = """\
#!/bin/sh
pid=$(cat {home}/pid)
kill $pid
while grep -qs "^State:.[^Z]" /proc/$pid/status; do sleep 0.1; done
rm {home}/pid
"""
# Which package the environment has, and which tables the database.
ASKED = f"""
{ENVIRONMENT}/bin/pip freeze | grep -iE '^(trueup|openstack)' | sed 's/[ =].*//' | paste -sd ' '
python3 - <<'END'
import sqlite3
tables = sqlite3.connect("{HOME}/placement.sqlite").execute(
    "SELECT name FROM sqlite_master WHERE name LIKE 'trueup%' OR name = 'allocations'")
print(len(tables.fetchall()), "tables")
END
"""
OF_UPSTREAM = ["openstack-placement", "1 tables"]
Play = Callable[[str], str]


@pytest.fixture(scope="module")
def wheels(machine: Machine, checkout: str) -> str:
    """pip's arguments for the wheels that the page says to make."""
    page = (REPOSITORY / "docs/service/deployment-tools.md").read_text()
    making = section(page, "What all of them need", "sh")
    machine.run("python3 -m venv ansible && ansible/bin/pip install --quiet ansible-core")
    machine.run(f"cd {checkout} && PATH={HOME}/ansible/bin:$PATH && {making}")
    return f"--find-links {checkout}/wheels --constraint {checkout}/constraints.txt"


@pytest.fixture(scope="module")
def play(machine: Machine, checkout: str, wheels: str) -> Play:
    """A script that runs a playbook with options of the role."""
    (machine.root / HOME[1:] / "inventory").write_text(INVENTORY)

    def command(playbook: str, **options: str) -> str:
        given = json.dumps({"trueup_pip_arguments": wheels, **options})
        program = f"LC_ALL=C.UTF-8 {HOME}/ansible/bin/ansible-playbook --inventory {HOME}/inventory"
        return f"{program} --extra-vars '{given}' {checkout}/packaging/ansible/{playbook}.yml"

    return command


def test_swap_and_back(machine: Machine, wheels: str, play: Play) -> None:
    port = free_port()
    folder = machine.root / HOME[1:]
    (folder / "etc").mkdir()
    (folder / "etc/placement.conf").write_text(CONF)
    for name, text in {"start": START, "stop": STOP}.items():
        text = text.format(home=HOME, environment=ENVIRONMENT, port=port)
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    machine.run(f"chown --recursive {ACCOUNT}: {HOME}/etc", "root")
    machine.run(
        f"python3 -m venv {ENVIRONMENT}"
        f" && {ENVIRONMENT}/bin/pip install --quiet {wheels} openstack-placement pyuwsgi"
    )
    options = {
        "trueup_environment": ENVIRONMENT,
        "trueup_placement_config": f"{HOME}/etc",
        "trueup_start_placement": f"{HOME}/start",
        "trueup_stop_placement": f"{HOME}/stop",
        "trueup_placement_url": f"http://127.0.0.1:{port}/",
    }
    swap, back = (f"{play(one, **options)} && {ASKED}" for one in ("swap", "back"))
    synced = f"OS_PLACEMENT_DATABASE__CONNECTION=sqlite:///{HOME}/placement.sqlite"
    # One command: what it started ends with it.
    printed = machine.run(
        f"set -e\n{synced} {ENVIRONMENT}/bin/placement-manage db sync\n{HOME}/start\n"
        f"{ASKED}\n{swap}\n{swap}\n{back}\n"
    )
    answers = re.findall(r"^(\S*(?:placement|trueup)[^:\n]*)\n(\d+ tables)$", printed, re.MULTILINE)
    first, swapped, again, last = (list(one) for one in answers)
    assert first == last == OF_UPSTREAM
    assert swapped == again
    assert swapped[0] == "trueup trueup-placement-names"
    assert int(swapped[1].split()[0]) > 1
    changes = re.findall(r"changed=(\d+)", printed)
    assert changes[1] == "0", "the second swap had nothing to do"
    assert "failed=1" not in printed


def test_the_watch_is_a_unit_that_systemd_accepts(machine: Machine, play: Play) -> None:
    """Nothing is started: this machine was not booted."""
    machine.run("apt-get install --yes --no-install-recommends systemd", "root")
    machine.run(f"SYSTEMD_OFFLINE=1 {play('watch')}", "root")
    unit = "/etc/systemd/system/trueup-watch.service"
    accepted = f"systemd-analyze verify --man=no {unit} && systemctl is-enabled trueup-watch"
    assert machine.run(accepted, "root") == "enabled\n"
    [started] = re.findall("^ExecStart=(.*)$", machine.run(f"cat {unit}"), re.MULTILINE)
    assert "--state-dir" in machine.run(f"{started.partition(' --')[0]} --help")
