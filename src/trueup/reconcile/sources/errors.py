# SPDX-License-Identifier: Apache-2.0
"""Why a cloud cannot be read or written: types with fields. `cli/exits` adds the words."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(eq=False)
class CloudError(Exception):
    """Base of all errors of reading or writing a cloud."""


class Cause(StrEnum):
    """Why a source cannot be read, as far as its answer tells."""

    UNKNOWN = "unknown"
    LOGIN = "login"
    RIGHTS = "rights"
    TLS = "TLS"
    PROXY = "proxy"


@dataclass(eq=False)
class Unreachable(CloudError):
    """A source does not answer, or its answer is not understood."""

    source: str
    reason: str
    cause: Cause = Cause.UNKNOWN


@dataclass(eq=False)
class AccessDenied(CloudError):
    """A service refused our credentials; `role` is the role that the request needs."""

    source: str
    reason: str
    role: str = "admin"


@dataclass(eq=False)
class LoginRefused(AccessDenied):
    """Keystone refused the account itself, before a request to `source`."""


@dataclass(eq=False)
class LedgersDiffer(CloudError):
    """Placement's database and its API show a provider in two states: they are two ledgers."""

    database: str
    api: str
    provider: str


@dataclass(eq=False)
class MicroversionTooOld(CloudError):
    """Placement does not support the microversion that guarded writes need."""

    newest: str
    needed: str


@dataclass(eq=False)
class SettingMissing(CloudError):
    """A configuration file of the project (nova or placement) lacks an option that we need.

    `near` is a section of the file with nearly the same name; empty: there is no such section.
    """

    path: str
    section: str
    option: str
    project: str = "nova"
    near: str = ""


@dataclass(eq=False)
class SettingsUnreadable(CloudError):
    """A configuration file of the project does not exist, or is not a configuration file."""

    path: str
    reason: str
    project: str = "nova"


@dataclass(eq=False)
class LoginUnusable(CloudError):
    """A cloud of clouds.yaml, or the OS_* environment, does not say how to log in."""

    login: str
    reason: str


@dataclass(eq=False)
class DatabaseUnusable(CloudError):
    """Not a database URL, or a URL for which no driver is installed."""

    source: str
    reason: str


@dataclass(eq=False)
class NotOne(CloudError):
    """A service has no object, or several, with this name; `kind` is flavor or image."""

    source: str
    kind: str
    name: str
    count: int
