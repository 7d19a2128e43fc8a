# SPDX-License-Identifier: Apache-2.0
"""The program as it is installed: Ctrl-C ends it with a sentence, also while it is imported."""

import subprocess
import sys

# Modules that `Ctrl-C` hits while they are imported, as the kernel would send it.
AT_IMPORT = """
import signal
import sys

interrupted, *words = sys.argv[1:]
signal.signal(signal.SIGINT, signal.default_int_handler)


class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == interrupted:
            signal.raise_signal(signal.SIGINT)


sys.meta_path.insert(0, Pressed())
from trueup.cli.start import main

sys.argv = ["trueup", *words]
sys.exit(main())
"""


def interrupted_at(module: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", AT_IMPORT, module, *words],
        capture_output=True,
        text=True,
        check=False,
    )


def test_ctrl_c_while_the_program_or_a_command_is_imported_ends_with_a_sentence():
    for module in ("cliff.app", "rich.console", "trueup.cli.audit", "keystoneauth1"):
        ran = interrupted_at(module, "audit")
        assert (ran.returncode, ran.stdout) == (130, ""), module
        assert ran.stderr == "trueup: stopped by Ctrl-C; nothing further is written.\n", module


def test_the_exit_code_is_the_commands():
    program = [sys.executable, "-c", "from trueup.cli.start import main; raise SystemExit(main())"]
    for words, code in ((["defects"], 0), (["nosuch"], 2), (["journal", "nosuch"], 2)):
        ran = subprocess.run([*program, *words], capture_output=True, check=False)
        assert ran.returncode == code
