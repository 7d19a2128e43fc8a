# SPDX-License-Identifier: Apache-2.0
"""A Containerfile as its stages, and what an image has of all stages that it is made from."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from tests.tree import REPOSITORY

FOLDER = REPOSITORY / "packaging" / "container"


@dataclass(frozen=True, slots=True)
class Instruction:
    """`RUN`, and what stands behind it."""

    name: str
    rest: str

    @property
    def command(self) -> list[str]:
        """The words of CMD or HEALTHCHECK, which are written in JSON."""
        words: list[str] = json.loads(self.rest[self.rest.index("[") :])
        return words


@dataclass(frozen=True, slots=True)
class Stage:
    name: str
    parent: str
    instructions: tuple[Instruction, ...]


def stages(path: Path) -> dict[str, Stage]:
    """By name; the last stage of a file may have none. What stands before the first is `""`."""
    text = re.sub(r"^#.*\n", "", path.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    read = [Instruction(*line.split(maxsplit=1)) for line in text.splitlines() if line.strip()]
    found: list[tuple[str, str, list[Instruction]]] = [("", "", [])]
    for instruction in read:
        if instruction.name == "FROM":
            parent, _, name = instruction.rest.partition(" AS ")
            found.append((name or path.name, parent, []))
        else:
            found[-1][2].append(instruction)
    return {name: Stage(name, parent, tuple(own)) for name, parent, own in found}


def image(path: Path, target: str) -> list[Instruction]:
    """Every instruction that makes a target, the first one first."""
    known = stages(path)
    stage = known[target]
    before = image(path, stage.parent) if stage.parent in known else []
    return [*before, *stage.instructions]


def last(instructions: list[Instruction], name: str) -> Instruction:
    """The one that counts."""
    return [one for one in instructions if one.name == name][-1]


def environment(instructions: list[Instruction]) -> dict[str, str]:
    """What ENV sets."""
    set_by = " ".join(one.rest for one in instructions if one.name == "ENV")
    return dict(re.findall(r"(\w+)=(\S+)", set_by))
