# SPDX-License-Identifier: Apache-2.0
"""Runs code of the neighbours in their environment, with files of configuration as they have."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from tests.clients.conftest import without_cloud
from tests.clients.keystone import DOMAIN, PROJECT, USER
from tests.servers.placement import REPOSITORY

ENVIRONMENT = REPOSITORY / ".venv" / "neighbours"
BLAZAR_CONF = """\
[DEFAULT]
os_auth_host = {host}
os_auth_port = {port}
os_auth_prefix =
os_auth_version = v3
os_admin_username = {user}
os_admin_password = secret
os_admin_project_name = {project}
os_region_name = RegionOne

[placement]
endpoint_type = public
"""
CYBORG_CONF = """\
[DEFAULT]
host = {compute}

[database]
connection = sqlite:///{folder}/cyborg.sqlite

[placement]
auth_type = password
auth_url = http://{host}:{port}/v3
username = {user}
password = secret
project_name = {project}
user_domain_id = {domain}
project_domain_id = {domain}
region_name = RegionOne
valid_interfaces = public
"""


def blazar(login: Mapping[str, str], folder: Path, *calls: tuple[object, ...]) -> None:
    """Each call is the name of a method of Blazar's client of Placement, and its arguments."""
    conf = _conf(BLAZAR_CONF, folder / "blazar.conf", login)
    python("-m", "tests.neighbours.blazar_calls", str(conf), *map(json.dumps, calls))


def cyborg(login: Mapping[str, str], folder: Path, compute: str, *events: str) -> None:
    """What happens to the device of a host."""
    conf = _conf(CYBORG_CONF, folder / "cyborg.conf", login, compute=compute, folder=folder)
    python("-m", "tests.neighbours.cyborg_reports", str(conf), *events)


def python(*words: str, **variables: str) -> str:
    """What a program of Python in their environment prints; it has to succeed."""
    own = {"PYTHONPATH": str(REPOSITORY), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        (ENVIRONMENT / "bin" / "python", *words), env=without_cloud() | own | variables,
        cwd=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:]
    return done.stdout


def _conf(text: str, path: Path, login: Mapping[str, str], **more: object) -> Path:
    keystone = urlsplit(login["OS_AUTH_URL"])
    known = {"user": USER["name"], "project": PROJECT["name"], "domain": DOMAIN["id"]}
    path.write_text(text.format(host=keystone.hostname, port=keystone.port, **known, **more))
    return path
