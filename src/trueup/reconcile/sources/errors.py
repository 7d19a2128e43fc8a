# SPDX-License-Identifier: Apache-2.0
"""Why a cloud cannot be read or written: types with fields, worded at the edge."""

from dataclasses import dataclass


@dataclass(eq=False)
class CloudError(Exception):
    """Anything that keeps us from reading or writing a cloud."""


@dataclass(eq=False)
class Unreachable(CloudError):
    """A source does not answer, or not as it should."""

    source: str
    reason: str


@dataclass(eq=False)
class AccessDenied(CloudError):
    """A service answered, and refuses our credentials."""

    source: str
    reason: str


@dataclass(eq=False)
class MicroversionTooOld(CloudError):
    """Placement does not speak the microversion that guards our writes."""

    newest: str
    needed: str


@dataclass(eq=False)
class SettingMissing(CloudError):
    """A configuration file lacks an option that we need."""

    path: str
    section: str
    option: str


@dataclass(eq=False)
class SettingsUnreadable(CloudError):
    """A configuration file is not there, or is not one."""

    path: str
    reason: str


@dataclass(eq=False)
class DatabaseUnusable(CloudError):
    """A database URL that no driver here can open, or that is not a URL."""

    source: str
    reason: str
