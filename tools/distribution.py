# SPDX-License-Identifier: Apache-2.0
"""The build backend: setuptools, with man pages and completions made before a wheel is built.

They are made from the commands' own parsers, so that a wheel is built where everything is that the
commands import. To build a source distribution or to install in place takes setuptools alone.
"""

import sys
import tomllib
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

ROOT = Path(__file__).parents[1]
IMPORTED = ("service", "reconcile")


def get_requires_for_build_wheel(settings: dict[str, Any] | None = None) -> list[str]:
    """setuptools' own, what the commands import, and what writes the completions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    imported = [one for name in IMPORTED for one in extras[name] if not one.startswith("trueup[")]
    [writer] = [one for one in extras["test"] if one.startswith("shtab")]
    own = build_meta.get_requires_for_build_wheel(settings)
    return [*own, *project["dependencies"], *imported, writer]


def build_wheel(
    folder: str, settings: dict[str, Any] | None = None, metadata: str | None = None
) -> str:
    """Make the pages, then the wheel."""
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tools")]
    import command_pages

    command_pages.main(ROOT)
    return build_meta.build_wheel(folder, settings, metadata)
