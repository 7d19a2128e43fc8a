# SPDX-License-Identifier: Apache-2.0
"""A wrong command line: one line of usage, one sentence, and what was probably meant."""

import pytest

from trueup.cli.main import COMMANDS, main
from trueup.cli.terminal.usage import no_such_command


@pytest.mark.parametrize(
    ("words", "usage", "sentence"),
    [
        ("audit --svae x", "audit [options]", "there is no option --svae. Did you mean --save?"),
        ("audit --svae=x", "audit [options]", "there is no option --svae. Did you mean --save?"),
        ("audit --xyzzy", "audit [options]", "there is no option --xyzzy."),
        ("audit --save", "audit [options]", "argument --save: expected one argument."),
        ("apply", "apply [options] PLAN", "the following arguments are required: PLAN."),
        ("apply a b", "apply [options] PLAN", "too many words: b."),
        (
            "defects orphaned-alocation",
            "defects [options] [NAME]",
            "argument NAME: there is no 'orphaned-alocation'. Did you mean orphaned-allocation?",
        ),
        (
            "nova-manage placement audit --config-file nova.conf",
            "nova-manage [options] placement ...",
            "the option --config-file belongs before the word 'placement'.",
        ),
    ],
)
def test_an_error_is_the_short_usage_and_a_sentence(words, usage, sentence, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(words.split())
    command = words.split()[0]
    assert capsys.readouterr().err.splitlines() == [
        f"usage: trueup {usage}",
        f"trueup {command}: error: {sentence} 'trueup {command} --help' lists the options.",
    ]


# nova-manage keeps the errors of Nova's.
@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"nova-manage"}))
def test_no_error_prints_all_options(command, capsys):
    with pytest.raises(SystemExit, match="2"):
        main([*command.split(), "--xyzzy"])
    assert len(capsys.readouterr().err.splitlines()) <= 4


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["snapshot"],
            "'snapshot' is the first word of a command: 'snapshot save' or 'snapshot sh",
        ),
        (["snapsho", "sve"], "there is no command 'snapsho'. Did you mean 'snapshot save'?"),
        (["xyzzy"], "there is no command 'xyzzy'. 'trueup help' lists the commands."),
        (["--grace=3", "audit"], "trueup itself has no option --grace. Options of a command come"),
    ],
)
def test_an_unknown_command_gets_a_sentence(words, sentence):
    assert no_such_command(words, COMMANDS).startswith(sentence)
