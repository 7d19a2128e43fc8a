# SPDX-License-Identifier: Apache-2.0
"""A reader that stops reading (`trueup plan | head`) is no error, and changes no exit code."""

import io
import os
import subprocess
import sys

import pytest

from tests.cli.running import ROOT
from trueup.cli.terminal.output import PageConsole, discard_output


class Closed:
    """A file whose reader is gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError

    def flush(self) -> None:
        """Nothing is kept."""


@pytest.mark.parametrize("words", [("defects",), ("defects", "orphaned-allocation")])
@pytest.mark.parametrize("more", [(), ("-f", "json")])
def test_nobody_reads_the_output(words, more):
    reading, writing = os.pipe()
    os.close(reading)
    program = "import sys; from trueup.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", program, *words, *more]
    with os.fdopen(writing, "wb") as output:
        ran = subprocess.run(
            command, stdout=output, stderr=subprocess.PIPE, cwd=ROOT, check=False, timeout=120
        )
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_a_console_says_that_its_reader_is_gone():
    with pytest.raises(BrokenPipeError):
        PageConsole(file=Closed()).print("a page")


def test_output_that_is_no_file_is_left_as_it_is(monkeypatch):
    output = io.StringIO()
    monkeypatch.setattr(sys, "stdout", output)
    discard_output()
    assert not output.closed
