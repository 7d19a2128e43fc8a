# SPDX-License-Identifier: Apache-2.0
"""What `trueup audit` says about the ledger."""

import json
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

BETWEEN_SECONDS = 2
# An audit takes seconds; one that hangs would hang the run.
LONGEST_SECONDS = 600
# Exit codes: nothing, findings, the evidence is incomplete.
JUDGED = (0, 3, 5)


class AuditFailed(Exception):
    """`trueup audit` could not judge the ledger; the text says why."""


class LedgerIsWrong(AssertionError):
    """Something is wrong that was not wrong before; the text names it."""


@dataclass(frozen=True)
class Fault:
    """Something that an audit found, or could not judge."""

    # The name of a defect, or why there is no judgement.
    what: str
    subject: str
    # The same fault may be told in other words by the next audit.
    detail: str = field(compare=False)

    def __str__(self) -> str:
        return f"{self.what}: {self.subject}: {self.detail}"


@dataclass(frozen=True)
class Look:
    """What one audit says."""

    wrong: frozenset[Fault]
    # Where something is silent, a fault that is not found may still be there.
    silent: frozenset[Fault]


@dataclass(frozen=True)
class Auditor:
    """`trueup audit`, as the section [trueup] of tempest.conf describes it."""

    command: str
    nova_conf: str | None
    settle_seconds: float

    def lasting_faults(self, known: frozenset[Fault]) -> tuple[frozenset[Fault], frozenset[Fault]]:
        """What is wrong, not known, and lasts for settle_seconds; what known is still there.

        AuditFailed if a source is silent for as long as that.
        """
        until = time.monotonic() + self.settle_seconds
        lasting: frozenset[Fault] | None = None
        while True:
            now = self.look()
            if not now.silent:
                new = now.wrong - known
                lasting = new if lasting is None else _of_subjects(new, lasting)
                if not lasting or time.monotonic() >= until:
                    return lasting, _of_subjects(known, now.wrong)
            elif time.monotonic() >= until:
                raise AuditFailed(in_lines(now.silent | (lasting or frozenset())))
            time.sleep(BETWEEN_SECONDS)

    def look(self) -> Look:
        """What is wrong now, or cannot be judged. AuditFailed where there is no answer at all."""
        # A deleted instance is nova-compute's for ten minutes; of a test it is to be gone sooner.
        words = [self.command, "audit", "-f", "json", "--grace", "0"]
        if self.nova_conf:
            words += ["--nova-conf", self.nova_conf]
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, check=False, timeout=LONGEST_SECONDS
            )
        except OSError as error:
            raise AuditFailed(f"[trueup] command = {self.command}: {error}") from error
        except subprocess.TimeoutExpired as error:
            raise AuditFailed(str(error)) from error
        if done.returncode not in JUDGED:
            raise AuditFailed(f"{' '.join(words)} ended with {done.returncode}:\n{done.stderr}")
        try:
            document = json.loads(done.stdout)
        except ValueError:
            printed = f"{done.stdout}{done.stderr}"
            raise AuditFailed(f"{' '.join(words)} printed no JSON:\n{printed}") from None
        wrong, silent = frozenset(_wrong(document)), frozenset(_silent(document))
        if not (document["complete"] or wrong or silent):
            raise AuditFailed(f"{' '.join(words)} is incomplete, and does not say where.")
        return Look(wrong, silent)


def in_lines(faults: Iterable[Fault]) -> str:
    return "\n".join(sorted(map(str, faults)))


def _of_subjects(faults: frozenset[Fault], others: frozenset[Fault]) -> frozenset[Fault]:
    """The faults of which the others tell as well: a defect may become another one meanwhile."""
    subjects = {one.subject for one in others}
    return frozenset(one for one in faults if one.subject in subjects)


def _wrong(document: Mapping[str, Any]) -> Iterator[Fault]:
    for one in document["findings"]:
        yield Fault(one["defect"], _name(one), f"{one['title']} ({one['where']})")
    for one in document["unchecked"]:
        yield Fault("could not check", _name(one), one["reason"])
    for one in document["coverage"]:
        if one["lost_rows"]:
            yield Fault("could not read", one["source"], f"{one['lost_rows']} rows")


def _silent(document: Mapping[str, Any]) -> Iterator[Fault]:
    for one in document["coverage"]:
        if not one["answered"]:
            yield Fault("did not answer", one["source"], one["reason"])
        elif one["behind"]:
            yield Fault("may be outdated", one["source"], one["behind"])


def _name(one: Mapping[str, Any]) -> str:
    return f"{one['subject']['kind']} {one['subject']['uuid']}"
