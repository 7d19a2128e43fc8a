# SPDX-License-Identifier: Apache-2.0
"""gophercloud's acceptance tests of Placement, on our service: `make gophercloud CLONE=FOLDER`.

Its source is in no index of Python or Debian packages, so a clone of it has to be named. These
tests use no other module of Go: they run on a copy whose go.mod asks for none.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.clients.keystone import DOMAIN, PROJECT, USER, keystone_for
from tests.servers.placement import placement_server
from tests.servers.upstream import create_tables

TESTS = "./internal/acceptance/openstack/placement/v1/..."
# Its acceptance tests do not begin without these, whatever service they are about.
OF_OTHER_SERVICES = (
    "OS_IMAGE_ID", "OS_FLAVOR_ID", "OS_FLAVOR_ID_RESIZE", "OS_NETWORK_ID", "OS_EXTGW_ID",
)  # fmt: skip


def main(clone: str, implementation: str = "trueup") -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy = folder / "gophercloud"
        shutil.copytree(clone, copy, ignore=shutil.ignore_patterns(".git"))
        (copy / "go.mod").write_text("module github.com/gophercloud/gophercloud/v2\n\ngo 1.25.0\n")
        url = f"sqlite:///{folder / 'placement.sqlite'}"
        create_tables(url)
        with placement_server(implementation, url) as server, keystone_for(server.url) as login:
            command = ("go", "test", "-v", "-count=1", "-tags", "acceptance", TESTS)
            return subprocess.call(command, cwd=copy, env=_environment(login))


def _environment(login: Mapping[str, str]) -> Mapping[str, str]:
    ours = {name: login[name] for name in ("OS_AUTH_URL", "OS_PASSWORD", "OS_REGION_NAME")}
    ours |= {"OS_USERNAME": USER["name"], "OS_DOMAIN_ID": DOMAIN["id"]}
    ours |= {"OS_PROJECT_ID": PROJECT["id"], "OS_BRANCH": "master", "GOPROXY": "off"}
    others = dict.fromkeys(OF_OTHER_SERVICES, "none")
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | others | ours | {"PATH": programs, "GOFLAGS": "-mod=mod"}


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
