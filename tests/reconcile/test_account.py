# SPDX-License-Identifier: Apache-2.0
"""Our account has a name everywhere, also in a container that runs with any number."""

import subprocess
import sys

from trueup.reconcile.account import user_name

NOBODY_KNOWS = 54321


def test_an_account_without_a_name_is_called_by_its_number():
    body = (
        "import os; from trueup.reconcile.account import user_name;"
        f"os.getuid = lambda: {NOBODY_KNOWS}; print(user_name())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", body], env={}, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == str(NOBODY_KNOWS)


def test_the_login_name_is_the_name(monkeypatch):
    monkeypatch.setenv("LOGNAME", "operator")
    assert user_name() == "operator"
