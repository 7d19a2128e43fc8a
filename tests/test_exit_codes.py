# SPDX-License-Identifier: Apache-2.0
"""The one table of exit codes."""

from trueup.exit_codes import ExitCode, table


def test_every_code_is_in_the_table_with_its_meaning():
    lines = table().splitlines()
    assert lines[1:] == [f"{code.value:>3}  {code.meaning}" for code in ExitCode]
    assert [int(code) for code in ExitCode] == [*range(7), 130]
