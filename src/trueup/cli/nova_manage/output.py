# SPDX-License-Identifier: Apache-2.0
"""What a stand-in prints: Nova's lines on standard output, our notes on standard error."""

import sys
from dataclasses import dataclass

from trueup.cli.terminal.progress import say

# Nova's return codes for an input that is not valid, and for an error that it did not foresee.
INVALID, ERROR = 127, 255
PLACEMENT_SILENT = "Unable to communicate with the Placement API."


@dataclass(eq=False)
class Invalid(Exception):
    """The command line asks for what is not there or contradicts itself, in Nova's words."""

    line: str


@dataclass(frozen=True, slots=True)
class Output:
    """`verbose` as Nova's --verbose: without it only what Nova always prints is printed."""

    verbose: bool

    def tell(self, line: str) -> None:
        """A line that Nova prints only with --verbose."""
        if self.verbose:
            self.always(line)

    def always(self, line: str) -> None:
        """A line that Nova always prints."""
        sys.stdout.write(f"{line}\n")

    def note(self, sentence: str) -> None:
        """Where we differ from Nova, or what Nova does not say."""
        say(f"Note: {sentence}")
