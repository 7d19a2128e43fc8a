# SPDX-License-Identifier: Apache-2.0
"""Every error of ours has a code and a sentence that says what to do."""

import inspect
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Literal, get_args, get_origin

import pytest

from trueup.cli import outcomes
from trueup.cli.exits import explained
from trueup.cli.terminal import options
from trueup.exit_codes import ExitCode
from trueup.reconcile import files
from trueup.reconcile.audit import observation
from trueup.reconcile.collect import selection
from trueup.reconcile.copies import ledger_copy, rehearse
from trueup.reconcile.plan import plan, plan_file
from trueup.reconcile.runs import journal, journals, undo
from trueup.reconcile.sources import errors
from trueup.reconcile.verdicts import acknowledgement_file

VALUES = {"datetime": datetime(2026, 1, 1), "timedelta": timedelta(hours=2), "int": 7, "float": 7.0}


def errors_of(module) -> list[type[Exception]]:
    return [
        kind
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, Exception)
        and kind.__module__ == module.__name__
        and kind is not errors.CloudError
    ]


MODULES = (
    errors, files, observation, plan, plan_file, journal, journals, selection,
    undo, options, outcomes, acknowledgement_file,
    ledger_copy, rehearse,
)  # fmt: skip
# What chooses the words, and is not said itself.
NOT_SAID = {
    (errors.Unreachable, "cause"),
    (errors.LoginRefused, "role"),
    (files.FileUnreadable, "kind"),
}
ERRORS = [kind for module in MODULES for kind in errors_of(module)]


def example(kind: type[Exception]) -> Exception:
    """One with a value in each field that can be recognised."""

    def value(field) -> object:
        name = getattr(field.type, "__name__", str(field.type))
        if name == "tuple" or "tuple" in str(field.type):
            return (f"{field.name}-1", f"{field.name}-2")
        if get_origin(field.type) is Literal:
            return get_args(field.type)[0]
        return VALUES.get(name, f"the-{field.name}")

    return kind(**{field.name: value(field) for field in fields(kind)})


def test_there_are_errors_to_be_explained():
    assert {
        errors.Unreachable,
        files.FileUnreadable,
        plan_file.PlanEdited,
        journals.RunBusy,
    } <= set(ERRORS)


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_is_explained_in_one_line_with_what_it_knows(kind):
    error = example(kind)
    code, sentence = explained(error)
    assert code not in (ExitCode.CLEAN, ExitCode.INTERNAL_ERROR, ExitCode.FINDINGS)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    for field in fields(kind):
        known = getattr(error, field.name)
        if (kind, field.name) in NOT_SAID:
            continue
        if isinstance(known, str):
            assert known in sentence, "what is known is said"
        elif isinstance(known, tuple):
            assert all(one in sentence for one in known)


@pytest.mark.parametrize(
    ("error", "code", "advice"),
    [
        (errors.Unreachable("cell1", "gone"), 5, "try again"),
        (errors.Unreachable("cell1", "no", errors.Cause.LOGIN), 5, "the password"),
        (errors.Unreachable("cell1", "no", errors.Cause.RIGHTS), 5, "grant SELECT"),
        (errors.Unreachable("Keystone", "no", errors.Cause.TLS), 5, "cafile"),
        (errors.Unreachable("Keystone", "no", errors.Cause.PROXY), 5, "no_proxy"),
        (errors.LoginRefused("Placement", "no"), 5, "Keystone refuses the account"),
        (errors.AccessDenied("Placement", "no"), 5, "admin role (or the service role)"),
        (errors.AccessDenied("Placement", "no", role="service"), 5, "with the service role is"),
        (errors.MicroversionTooOld("1.27", "1.28"), 5, "Rocky"),
        (errors.SettingMissing("f", "s", "o"), 2, "--nova-conf"),
        (errors.SettingMissing("f", "s", "o", "placement"), 2, "with --placement-conf"),
        (errors.SettingMissing("f", "some", "o", near="smoe"), 2, "section [smoe] may be misspelt"),
        (errors.SettingsUnreadable("f", "no"), 2, "A command with --nova-api needs none"),
        (errors.SettingsUnreadable("f", "no", "placement"), 2, "with --placement-conf"),
        (errors.LoginUnusable("cloud 'x' of clouds.yaml", "no"), 2, "with --os-cloud"),
        (errors.DatabaseUnusable("cell1", "no driver"), 2, "extras 'mysql', 'postgresql'"),
        (plan_file.PlanEdited("f"), 2, "trueup plan --out FILE"),
        (plan.LimitExceeded(30, 25), 6, "--limit 30"),
        (plan.PlanForeign(("a", "b"), ("a", "c")), 2, "Name the right nova.conf"),
        (plan.PlanForeign(("a", "b"), ("cells-that-are-down", "nova-api")), 2, "the same options"),
        (journals.RunBusy("r"), 2, "Wait"),
        (journals.RunUnknown("r", "d"), 2, "trueup journal"),
        (journal.JournalDamaged("f", 3, "bad"), 2, "line 3 of f"),
        (files.FileUnreadable("f", "audit", "no"), 2, "trueup audit --save FILE"),
    ],
)
def test_the_sentence_says_what_to_do(error, code, advice):
    found, sentence = explained(error)
    assert found == code
    assert advice in sentence


def test_what_nobody_foresaw_is_not_explained():
    assert explained(ZeroDivisionError()) is None
