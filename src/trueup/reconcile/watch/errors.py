# SPDX-License-Identifier: Apache-2.0
"""Why a watch cannot begin. In a file of their own, so that importing them loads no library."""

from dataclasses import dataclass


@dataclass(eq=False)
class WatchedAlready(Exception):
    """Another process watches with the same folder."""

    folder: str


@dataclass(eq=False)
class FolderUnusable(Exception):
    """The folder for what watching remembers cannot be made or written."""

    folder: str
    reason: str
