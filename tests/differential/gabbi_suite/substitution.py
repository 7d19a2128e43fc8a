# SPDX-License-Identifier: Apache-2.0
"""Our parts in upstream's test fixtures: the database, the policy file, the application.

Upstream's fixtures fill the database through upstream's objects; only then is the implementation
under test started on it, with the settings that the fixture made. So whatever the fixture writes
is what a site that swaps the service would find.
"""

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from oslo_config import cfg
from placement.tests import fixtures as upstream_fixtures
from placement.tests.unit import policy_fixture

from tests.servers import upstream

SET_BY_THE_FIXTURE = (cfg.Locations.set_override, cfg.Locations.set_default)
Settings = dict[str, dict[str, Any]]
Factory = Callable[[str, Settings], Callable]


class Substitution:
    """One gabbi file's run: the application that upstream's fixture does not start."""

    def __init__(self, factory: Factory, database_url: str, folder: Path):
        self._factory = factory
        self._database_url = database_url
        self._policy_file = folder / "policy.yaml"
        self._rules: dict[str, str] = {}
        self._application: Callable | None = None

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        url = self._database_url

        class Database(_Database):
            database_url = url

        with (
            mock.patch.object(upstream_fixtures, "Database", Database),
            mock.patch.object(policy_fixture.PolicyFixture, "set_rules", self._note_rules),
        ):
            yield

    def fixture(self, upstream_fixture: type) -> type:
        """Upstream's fixture, and then the application."""
        substitution = self

        class WithApplication(upstream_fixture):
            def start_fixture(self) -> None:
                super().start_fixture()
                try:
                    substitution.start(self.conf_fixture.conf)
                except BaseException:
                    super().stop_fixture()
                    raise

            def stop_fixture(self) -> None:
                substitution.stop()
                super().stop_fixture()

        return WithApplication

    def start(self, configuration: cfg.ConfigOpts) -> None:
        settings = _settings_of(configuration)
        self._policy_file.write_text(json.dumps(self._rules))  # JSON is YAML
        settings.setdefault("oslo_policy", {})["policy_file"] = str(self._policy_file)
        self._application = self._factory(self._database_url, settings)

    def stop(self) -> None:
        close = getattr(self._application, "close", None)
        self._application = None
        if close is not None:
            close()

    def intercept(self) -> Callable:
        """What gabbi calls instead of a server; the application is not there yet."""

        def application(environ: dict[str, Any], start_response: Callable) -> Iterable[bytes]:
            return self._application(environ, _strict(start_response))

        return application

    def _note_rules(self, rules: dict[str, str], overwrite: bool = True) -> None:
        if overwrite:
            self._rules.clear()
        self._rules.update({name: str(check) for name, check in rules.items()})


class _Database:
    """In place of upstream's fixture of this name, which knows only oslo.db's own databases."""

    database_url: str

    def __init__(self, conf_fixture: Any, set_config: bool = False):
        self._conf_fixture = conf_fixture
        self._detached_at_the_end = contextlib.ExitStack()

    def setUp(self) -> None:
        url = upstream.upstream_url(self.database_url)
        self._conf_fixture.config(connection=url, group="placement_database")
        attached = upstream.attached_database(self._conf_fixture.conf)
        self._detached_at_the_end.enter_context(attached)

    def cleanUp(self) -> None:
        self._detached_at_the_end.close()


def _settings_of(configuration: cfg.ConfigOpts) -> Settings:
    """What the fixture has set, by group and option; a site would write it to placement.conf."""
    settings: Settings = {}
    for group, options in configuration.items():
        if not isinstance(options, cfg.ConfigOpts.GroupAttr):
            continue
        for option in options:
            found = configuration.get_location(option, group)
            if found is not None and found.location in SET_BY_THE_FIXTURE:
                settings.setdefault(group, {})[option] = options[option]
    settings.get("placement_database", {}).pop("connection", None)
    return settings


def _strict(start_response: Callable) -> Callable:
    """PEP 3333 wants native strings, and some servers insist on it."""

    def checked(status: str, headers: list[tuple[str, str]], *rest: Any) -> Callable:
        for text in (status, *(part for header in headers for part in header)):
            assert type(text) is str, f"not a native string: {text!r}"
        return start_response(status, headers, *rest)

    return checked
