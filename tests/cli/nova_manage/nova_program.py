# SPDX-License-Identifier: Apache-2.0
"""Runs Nova's own `nova-manage`, one command line after the other, in one process.

To start it takes ten seconds, and a command takes less than one. A line of standard input is a
document: the words of a command line, and the databases that are to have all of Nova's tables.
A line of standard output is a document with the return code and what was printed.
"""

import contextlib
import io
import json
import os
import sys
import traceback

os.environ["OS_NOVA_DISABLE_EVENTLET_PATCHING"] = "1"

from nova.cmd import manage
from nova.db.api import models as api_models
from nova.db.main import models
from sqlalchemy import create_engine


def complete(url: str) -> None:
    """Make those tables of Nova's that a database does not have."""
    engine = create_engine(url)
    schema = api_models.BASE if url.endswith("nova_api.sqlite") else models.BASE
    schema.metadata.create_all(engine)
    engine.dispose()


def run(words: list[str]) -> dict:
    printed = io.StringIO()
    sys.argv = ["nova-manage", "--log-file", os.devnull, *words]
    with contextlib.redirect_stdout(printed):
        try:
            code = manage.main()
        except SystemExit as end:
            code = end.code
        except Exception:
            printed.write(traceback.format_exc())
            code = -1
    forget()
    return {"code": code, "out": printed.getvalue()}


def forget() -> None:
    """Forget the configuration, and every connection that was made by it."""
    from nova import context
    from nova.db.api import api as api_database
    from nova.db.main import api as main_database
    from nova.network import neutron
    from nova.scheduler.client import report

    manage.CONF.reset()
    manage.CONF.unregister_opts([manage.category_opt, manage.post_mortem_opt])
    context.CELL_CACHE = {}
    context.CELLS = []
    report.PLACEMENTCLIENT = None
    neutron._SESSION = None
    neutron._ADMIN_AUTH = None
    for database in (api_database, main_database):
        begun = database.context_manager
        begun._root_factory = begun._create_root_factory()


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        for url in asked["databases"]:
            complete(url)
        answer = run(asked["words"])
        sys.__stdout__.write(json.dumps(answer) + "\n")
        sys.__stdout__.flush()


if __name__ == "__main__":
    main()
