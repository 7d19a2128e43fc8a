# SPDX-License-Identifier: Apache-2.0
"""What `trueup audit` says about the ledger."""

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tempest import config

CONF = config.CONF
BETWEEN_SECONDS = 2
# Exit codes: nothing, findings, the evidence is incomplete.
JUDGED = (0, 3, 5)


class AuditFailed(Exception):
    """`trueup audit` could not judge anything; the text is what it said."""


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


def faults() -> frozenset[Fault]:
    """What is wrong now, or cannot be judged. AuditFailed where there is no answer at all."""
    # A deleted instance is nova-compute's for ten minutes; of a test it is to be gone sooner.
    words = [CONF.trueup.command, "audit", "-f", "json", "--grace", "0"]
    if CONF.trueup.nova_conf:
        words += ["--nova-conf", CONF.trueup.nova_conf]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise AuditFailed(f"[trueup] command = {CONF.trueup.command}: {error}") from error
    if done.returncode not in JUDGED:
        raise AuditFailed(f"{' '.join(words)} ended with {done.returncode}:\n{done.stderr}")
    return frozenset(_faults_of(json.loads(done.stdout)))


def lasting_faults(known: frozenset[Fault]) -> frozenset[Fault]:
    """What is wrong now and not known, and still is after [trueup] settle_seconds."""
    until = time.monotonic() + CONF.trueup.settle_seconds
    lasting = faults() - known
    while lasting and time.monotonic() < until:
        time.sleep(BETWEEN_SECONDS)
        lasting &= faults()
    return lasting


def _faults_of(document: Mapping[str, Any]) -> Iterator[Fault]:
    for one in document["findings"]:
        yield Fault(one["defect"], _name(one), f"{one['title']} ({one['where']})")
    for one in document["unchecked"]:
        yield Fault("could not check", _name(one), one["reason"])
    for one in document["coverage"]:
        if not one["answered"] and not one["unsupported"]:
            yield Fault("did not answer", one["source"], one["reason"])


def _name(one: Mapping[str, Any]) -> str:
    return f"{one['subject']['kind']} {one['subject']['uuid']}"
