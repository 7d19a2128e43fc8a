# SPDX-License-Identifier: Apache-2.0
"""Nova's lines go to stdout, and our notes to stderr."""

from trueup.cli.nova_manage.output import Output


def test_without_verbose_only_what_nova_always_prints(capsys):
    quiet = Output(verbose=False)
    quiet.tell("Processed 0 instances.")
    quiet.always("Compute host x could not be found.")
    assert capsys.readouterr().out == "Compute host x could not be found.\n"


def test_with_verbose_every_line(capsys):
    Output(verbose=True).tell("Processed 0 instances.")
    assert capsys.readouterr().out == "Processed 0 instances.\n"


def test_a_note_does_not_stand_among_novas_lines(capsys):
    Output(verbose=False).note("it differs.")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "Note: it differs.\n")
