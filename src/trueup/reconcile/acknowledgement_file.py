# SPDX-License-Identifier: Apache-2.0
"""The file of acknowledgements, in TOML: a table `[[acknowledged]]` for each."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from trueup.reconcile.acknowledgements import Acknowledgement


@dataclass(eq=False)
class AcknowledgementsUnreadable(Exception):
    """The file is named and not there, or holds something else."""

    path: str
    reason: str


class _File(msgspec.Struct, forbid_unknown_fields=True):
    acknowledged: tuple[Acknowledgement, ...] = ()


def load(path: Path) -> tuple[Acknowledgement, ...]:
    """Every acknowledgement of a file. Raises AcknowledgementsUnreadable."""
    try:
        found = msgspec.convert(tomllib.loads(path.read_text()), _File).acknowledged
    except OSError as error:
        raise AcknowledgementsUnreadable(str(path), error.strerror or str(error)) from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise AcknowledgementsUnreadable(str(path), str(error)) from error
    empty = next((one for one in found if not one.name or not one.reason.strip()), None)
    if empty is not None:
        raise AcknowledgementsUnreadable(str(path), f"{empty.kind} has no name or no reason")
    return found
