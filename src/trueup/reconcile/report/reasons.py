# SPDX-License-Identifier: Apache-2.0
"""Reasons for people and for programs: a sentence, or the name with the values."""

import tomllib
from collections.abc import Mapping
from datetime import timedelta
from importlib.resources import files
from string import Formatter
from typing import Any

from trueup.reconcile.reasons import Reason
from trueup.reconcile.report.words import structures
from trueup.reconcile.wording import age_in_words, counted

SENTENCES: Mapping[str, str] = tomllib.loads(
    (files(__package__) / "sentences.toml").read_text(encoding="utf-8")
)


def in_words(reason: Reason | str | None) -> str:
    """A reason as a sentence without its full stop; empty if there is none."""
    if not isinstance(reason, Reason):
        return reason or ""
    cause = _Cause("; ".join(map(in_words, reason.causes)))
    # A journal of another release may have a reason that this release does not know.
    sentence = SENTENCES.get(reason.name, reason.name)
    return _SENTENCE.vformat(sentence, (), {**reason.fields, "cause": cause})


def reason_document(reason: Reason | None) -> Mapping[str, Any] | None:
    """A reason for programs: its stable name, its values and its causes."""
    if reason is None:
        return None
    causes = [reason_document(cause) for cause in reason.causes]
    return {"name": reason.name, "fields": dict(reason.fields), "causes": causes}


class _Cause(str):
    """The causes of a reason, in words."""


class _Sentence(Formatter):
    def format_field(self, value: Any, spec: str) -> str:
        match value:
            case _Cause():
                return f"{spec}{value}" if value else ""
            case None | "" | () | []:
                return spec.removeprefix("else ") if spec.startswith("else ") else _nothing(value)
            case int() if spec == "age":
                return age_in_words(timedelta(seconds=value))
            case int() if spec:
                return counted(value, spec)
            case tuple() | list() if isinstance(value[0], Mapping):
                return structures(value)
            case tuple() | list():
                return (f" {spec} " if spec and not spec.startswith("else ") else ", ").join(value)
        return str(value)


def _nothing(value: object) -> str:
    return "none" if value is None or value == "" else "nothing"


_SENTENCE = _Sentence()
