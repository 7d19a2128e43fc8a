# SPDX-License-Identifier: Apache-2.0
"""packaging/container without an engine: its steps on bare machines, and what they make run.

A container is a tree that is read-only but for /tmp and the volume, a user without any
capability, and, unless it has to reach a server of this machine, a network of its own.
"""

import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fresh.machine import BARE, Machine, fresh_machine
from tests.packaging.containerfile import FOLDER, environment, image, last

FILE = FOLDER / "Containerfile"
ENTER = """\
set -e
mount --bind / /mnt
mount -o remount,bind,ro /mnt
mount --bind /var/lib/trueup /mnt/var/lib/trueup
mount --rbind /proc /mnt/proc
mount --rbind /dev /mnt/dev
mount -t tmpfs tmpfs /mnt/tmp
exec chroot /mnt setpriv --reuid=42424 --regid=42424 --clear-groups --bounding-set=-all \
    --inh-caps=-all --no-new-privs sh -e /inside
"""
LOOPBACK_UP = """\
import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh", b"lo", 1))
"""
# Run the command, and ask for its health until it is well; then it ends as it is told to.
SERVED = """\
{command} &
server=$!
for attempt in $(seq 600); do
    if {health} 2>/tmp/ill; then echo healthy; break; fi
    kill -0 $server
    sleep 0.1
done
kill $server
wait $server || code=$?
echo ended with ${{code:-0}}
"""
PLACEMENT_CONF = """\
[placement_database]
connection = sqlite:////tmp/placement.sqlite
[keystone_authtoken]
auth_type = password
auth_url = http://127.0.0.1:5000
memcached_servers = 127.0.0.1:11211
memcache_security_strategy = ENCRYPT
memcache_secret_key = a-secret
"""
# Of OpenStack-Helm's placement-api-uwsgi.ini, with our number of threads.
UWSGI_INI = """\
[uwsgi]
http-socket = 0.0.0.0:8778
module = placement.wsgi.api:application
add-header = Connection: close
buffer-size = 65535
die-on-term = true
enable-threads = true
hook-master-start = unix_signal:15 gracefully_kill_them_all
lazy-apps = true
log-x-forwarded-for = true
master = true
processes = 1
threads = 4
procname-prefix-spaced = placement-api:
route-user-agent = ^kube-probe.* donotlog:
thunder-lock = true
worker-reload-mercy = 80
stats = 0.0.0.0:1717
stats-http = true
"""
NOBODY_ANSWERS = """\
[api_database]
connection = mysql+pymysql://nova:nova@127.0.0.1:1/nova_api
[placement]
auth_type = password
auth_url = http://127.0.0.1:1/v3
username = placement
password = a-password
project_name = service
user_domain_name = Default
project_domain_name = Default
"""


class Images:
    """The machines of the stages `build` and `runtime`, on which all their steps were done."""

    def __init__(self, folder: Path) -> None:
        build = _machine(folder / "build")
        checkout = build.put_checkout()
        build.run(f"cp --archive {checkout} /source", "root")
        _do_steps(build, "build", "/source")
        self.machine = _machine(folder / "runtime")
        subprocess.run(
            ["cp", "--archive", build.root / "opt/trueup", self.machine.root / "opt"], check=True
        )
        _do_steps(self.machine, "runtime", "/")

    def run(self, target: str, script: str, own_network: bool = True) -> str:
        """What a shell prints in a container of a target."""
        variables = environment(image(FILE, target))
        self.put(
            "/inside", "".join(f"export {one}={variables[one]}\n" for one in variables) + script
        )
        self.put("/enter", ENTER)
        self.put("/loopback", LOOPBACK_UP)
        enter = "unshare --net sh -c 'python3 /loopback && exec sh /enter'"
        return self.machine.run(enter if own_network else "sh /enter", "root")

    def put(self, inside: str, text: str) -> None:
        file = self.machine.root / inside.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def _machine(folder: Path) -> Machine:
    folder.mkdir()
    return fresh_machine(folder)


def _do_steps(machine: Machine, stage: str, folder: str) -> None:
    for step in image(FILE, stage):
        if step.name == "RUN":
            machine.run(f"cd {folder} && {step.rest}", "root")


def served(target: str, command: str = "") -> str:
    """A script that runs what a target runs, or something else, under its health check."""
    made = image(FILE, target)
    return SERVED.format(
        command=command or shlex.join(last(made, "CMD").command),
        health=shlex.join(last(made, "HEALTHCHECK").command),
    )


@pytest.fixture(scope="module")
def images() -> Iterator[Images]:
    BARE.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=BARE))
    try:
        yield Images(folder)
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)


def test_a_container_has_no_root_and_writes_only_where_it_keeps_its_state(images: Images) -> None:
    written = "touch /opt/trueup/one 2>/tmp/refused || cat /tmp/refused"
    printed = images.run("watch", f"id --user; {written}; touch /tmp/one /var/lib/trueup/one")
    assert printed.startswith("42424\n")
    assert "Read-only file system" in printed


@pytest.mark.parametrize("command", ["", "uwsgi --ini /etc/placement/placement-api-uwsgi.ini"])
def test_the_service_serves(images: Images, command: str) -> None:
    images.put("/etc/placement/placement.conf", PLACEMENT_CONF)
    images.put("/etc/placement/placement-api-uwsgi.ini", UWSGI_INI)
    printed = images.run("service", "placement-manage db sync\n" + served("service", command))
    assert "healthy\n" in printed, printed
    assert printed.endswith("ended with 0\n"), printed


def test_the_watch_is_healthy_while_its_cloud_is_away(images: Images) -> None:
    images.put("/etc/trueup/nova.conf", NOBODY_ANSWERS)
    printed = images.run("watch", served("watch"))
    assert "healthy\n" in printed, printed


def test_the_watch_does_a_round_and_remembers_it(images: Images, recorded_cloud) -> None:
    cloud = recorded_cloud("healthy", "upstream")
    images.put("/etc/trueup/nova.conf", cloud.nova_conf.read_text())
    watch = "trueup watch --rounds 1 --listen 127.0.0.1:0"
    printed = images.run("watch", f"{watch} && ls /var/lib/trueup", own_network=False)
    assert "watch.json" in printed, printed
