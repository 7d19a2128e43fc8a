# SPDX-License-Identifier: Apache-2.0
"""Evidence and rulings in words: only this module turns the values of findings into text."""

from collections.abc import Iterable, Mapping

from trueup.reconcile.plan import Ruling
from trueup.reconcile.verdicts import Evidence, Scalar, Structure, Value, plain_words
from trueup.reconcile.wording import counted


def evidence_in_words(evidence: Evidence) -> dict[str, str]:
    """Each value as text, by its label as people read it (`should hold`)."""
    return {label.replace("_", " "): _words(value) for label, value in evidence.items()}


def decision_in_words(ruling: Ruling) -> str:
    """What a policy says of a step: `ask`, or `approval of 2 persons`."""
    persons = f" of {counted(ruling.approvals, 'person')}" if ruling.approvals else ""
    return f"{ruling.decision}{persons}"


def _words(value: Value) -> str:
    if isinstance(value, Mapping):
        return _structure(value)
    if isinstance(value, list | tuple):
        return structures(value)
    return "" if value is None else str(value)


def structures(rows: Iterable[Structure]) -> str:
    """`VCPU=1 MEMORY_MB=64 on devstack1; …`, or `nothing`."""
    return "; ".join(map(_structure, rows)) or "nothing"


def _structure(row: Structure) -> str:
    """`VCPU=1 MEMORY_MB=64 on devstack1` for resources; else `name, label value, label value`."""
    resources = row.get("resources")
    if isinstance(resources, Mapping):
        return f"{plain_words(resources)} on {row.get('name') or row.get('provider')}"
    return ", ".join(_labelled(row))


def _labelled(row: Structure) -> Iterable[str]:
    for label, value in row.items():
        if label == "name":
            yield str(value)
        elif value is not None:
            words = plain_words(value) if isinstance(value, Mapping) else _scalar(value)
            yield f"{label.replace('_', ' ')} {words}"


def _scalar(value: Scalar) -> str:
    return "yes" if value is True else "no" if value is False else str(value)
