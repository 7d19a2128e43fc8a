# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin for osc-placement's functional tests: our service where they start upstream's."""

import functools
import tempfile
import uuid
from pathlib import Path

import fixtures
from placement.tests.functional.fixtures import placement
from wsgi_intercept.interceptor import RequestsInterceptor

from tests.servers.placement import NOAUTH
from trueup.placement.app import make_app

# As upstream's fixture has it: the tests' account has not the role `service`, which the newer
# defaults ask of who reshapes.
OLD_POLICY = {"oslo_policy": {"enforce_new_defaults": False}}


# PERF: the tables are made once, and not for each test.
@functools.cache
def ready_database() -> bytes:
    settings = {**NOAUTH, "placement_database": {"sync_on_startup": True}}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ready.sqlite"
        make_app(f"sqlite:///{file}", settings).close()
        return file.read_bytes()


class Ours(fixtures.Fixture):
    """What their tests use of upstream's fixture: an address, a token, and its configuration."""

    token = "admin"
    db = True

    def __init__(self, **_: object) -> None:
        """Nova's tests name options of upstream's own."""

    def setUp(self) -> None:
        super().setUp()
        file = Path(self.useFixture(fixtures.TempDir()).path) / "placement.sqlite"
        file.write_bytes(ready_database())
        self._url = f"sqlite:///{file}"
        self._settings = {**NOAUTH, **OLD_POLICY}
        self._application = make_app(self._url, self._settings)
        self.addCleanup(lambda: self._application.close())
        self.conf_fixture = self
        self.endpoint = f"http://{uuid.uuid4()}/placement"
        intercept = RequestsInterceptor(lambda: self._application, url=self.endpoint)
        intercept.install_intercept()
        self.addCleanup(intercept.uninstall_intercept)

    def config(self, group: str, **options: object) -> None:
        """Options that a test sets while the service runs: it is started anew with them."""
        self._settings[group] = {**self._settings.get(group, {}), **options}
        self._application.close()
        self._application = make_app(self._url, self._settings)


placement.PlacementFixture = Ours
