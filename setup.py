# SPDX-License-Identifier: Apache-2.0
"""The description for package indexes: README.md with names of files in place of relative links.

An index shows the description alone, and a relative link would lead nowhere there. The pages about
defects are put into the package, where `trueup defects NAME` finds them. Everything else about the
package is in pyproject.toml.
"""

import re
from glob import glob
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?:)[^)]+\)\n*")
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)([^)#]+)[^)]*\)")


def description() -> str:
    """README.md without pictures; a link to a file becomes its text and the file's name."""
    page = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
    return LINK.sub(_name_the_file, PICTURE.sub("", page))


def _name_the_file(link: re.Match[str]) -> str:
    text, path = link.groups()
    return f"`{path}`" if text == path else f"{text} (`{path}`)"


class WithDefectPages(build_py):
    """Builds the package with docs/defects/*.md in it; a tree in place is read where it is."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        folder = Path(self.build_lib) / "trueup" / "defect_pages"
        folder.mkdir(parents=True, exist_ok=True)
        for page in sorted((Path(__file__).parent / "docs" / "defects").glob("*.md")):
            (folder / page.name).write_bytes(page.read_bytes())


COMPLETIONS = "src/trueup/cli/completions"
# What a shell and `man` find below the prefix of the environment, made by tools/distribution.py.
FOR_THE_SHELL = [
    ("share/man/man1", sorted(glob("build/man/*.1"))),
    ("share/bash-completion/completions", glob(f"{COMPLETIONS}/bash/*")),
    ("share/fish/vendor_completions.d", glob(f"{COMPLETIONS}/fish/*")),
    ("share/zsh/site-functions", glob(f"{COMPLETIONS}/zsh/*")),
]

setup(
    data_files=FOR_THE_SHELL,
    cmdclass={"build_py": WithDefectPages},
    long_description=description(),
    long_description_content_type="text/markdown",
)
