# SPDX-License-Identifier: Apache-2.0
"""Apache with mod_wsgi, and nothing else in its configuration but what distributions put there."""

import os
import sys
import sysconfig
from pathlib import Path

from tests.servers.processes import find_program
from tests.servers.skipping import skip_without

MODULES = Path("/usr/lib/apache2/modules")
WSGI_MODULE = MODULES / f"mod_wsgi.so-{sys.version_info.major}.{sys.version_info.minor}"
PACKAGES = "apache2-bin and libapache2-mod-wsgi-py3"
# As Debian and Red Hat ship it: nothing may be served that is not named.
AROUND = """\
ServerRoot {folder}
ServerName localhost
PidFile {folder}/pid
ErrorLog /dev/stderr
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule wsgi_module {wsgi}
WSGISocketPrefix {folder}/wsgi
<Directory />
    Require all denied
</Directory>
{sample}
"""


def apache(sample: str, folder: Path) -> list[str]:
    """The command that runs Apache with this part of a configuration; it ends with its parent."""
    if not WSGI_MODULE.exists():
        skip_without(f"{WSGI_MODULE} is missing: install the packages {PACKAGES}")
    program = find_program("apache2", "apache2-bin", "/usr/sbin")
    file = folder / "apache.conf"
    file.write_text(AROUND.format(folder=folder, modules=MODULES, wsgi=WSGI_MODULE, sample=sample))
    command = [program, "-f", str(file), "-D", "FOREGROUND"]
    if os.geteuid() != 0:
        return command
    # Apache refuses to serve as root, and other accounts may not read where the tests are. The
    # account needs a home that exists.
    account = ["--reuid=daemon", "--regid=daemon", "--clear-groups"]
    reads_all = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
    return ["setpriv", *account, *reads_all, "--pdeathsig=TERM", "--", *command]


def python_path(names: Path) -> dict[str, str]:
    """What makes the Python of the distribution find the packages of this one."""
    folders = [str(names), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    return {"PYTHONPATH": os.pathsep.join(dict.fromkeys(folders))}
