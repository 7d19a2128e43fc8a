# SPDX-License-Identifier: Apache-2.0
"""Proof that a journal is what it was: its digests, a signature, and messages kept elsewhere.

A signed journal has two files beside it, which need no Trueup: `RUN.signed` says how many lines had
which SHA-256, and `RUN.signed.sig` is the signature of that file, as `ssh-keygen -Y` makes it.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec

from trueup.reconcile import files
from trueup.reconcile.reasons import Reason, because, together
from trueup.reconcile.runs.journal import Journal
from trueup.reconcile.runs.journals import Unreadable, runs
from trueup.reconcile.runs.keygen import KeygenFailed, Ran, keygen, words_of

NAMESPACE = "trueup-journal"
_STATEMENT = re.compile(r"trueup journal (\S+)\nlines (\d+)\nsha256 ([0-9a-f]{64})\n")
_KEY = re.compile(r"\S+ key SHA256:\S+")


@dataclass(eq=False)
class NotSigned(Exception):
    """ssh-keygen made no signature of a journal."""

    run: str
    reason: str


# The digests that each line of a journal had, by run and number, as messages elsewhere have them:
# more than one if the journal was changed in between.
Received = Mapping[str, Mapping[int, frozenset[str]]]


@dataclass(frozen=True, slots=True)
class Proof:
    """What can be proven of a journal. `signed_by` may be empty.

    `fault`: why it is not whole. `lacking`: which proof was demanded of it, and is not there.
    """

    run: str
    lines: int = 0
    digest: str = ""
    signed_by: str = ""
    signed_lines: int = 0
    received_lines: int = 0
    fault: Reason | None = None
    lacking: Reason | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What journals are compared with: the allowed signers of OpenSSH, and messages.

    `signed`, `sent`: each of them has to be signed, and in messages.
    """

    signers: Path | None = None
    received: Received = field(default_factory=dict)
    signed: bool = False
    sent: bool = False


def seal(journal: Journal, folder: Path, key: Path) -> None:
    """Sign a journal as it is now. Raises NotSigned, FileUnwritable."""
    content = (folder / f"{journal.run}.jsonl").read_bytes()
    text = _statement(journal.run, content)
    ran = _keygen("sign", "-n", NAMESPACE, "-f", str(key), text=text)
    if ran.returncode or not ran.stdout:
        raise NotSigned(journal.run, words_of(ran))
    statement = _beside(folder, journal.run)
    files.write(statement, text.encode())
    files.write(_signature(statement), ran.stdout.encode())


def prove(folder: Path, evidence: Evidence, run: str = "") -> Iterator[Proof]:
    """What can be proven of each journal in a folder, or of one run."""
    journals = runs(folder)
    known = {journal.run for journal in journals}
    for journal in journals:
        if run in ("", journal.run):
            yield _proof(journal, folder, evidence)
    for name in sorted(evidence.received.keys() - known):
        if run in ("", name):
            yield Proof(name, fault=because("journal-gone"))


def _proof(journal: Journal | Unreadable, folder: Path, evidence: Evidence) -> Proof:
    if isinstance(journal, Unreadable):
        return Proof(journal.run, fault=because("journal-unreadable", words=journal.reason))
    lines, digest = journal.head
    signed_lines, found = _signed(folder, journal.run, evidence.signers)
    fault = found if isinstance(found, Reason) else None
    if not (folder / f"{journal.run}.jsonl").read_bytes().endswith(b"\n"):
        fault = fault or because("journal-half-line", line=lines + 1)
    received = evidence.received.get(journal.run, {})
    for number, told in sorted(received.items()):
        if fault is None and (number > lines or {journal.digests[number - 1]} != told):
            fault = because("journal-not-as-sent", line=number)
    by, sent_lines = "" if isinstance(found, Reason) else found, max(received, default=0)
    lacking = None if fault else _lacking(journal, evidence, signed_lines, sent_lines)
    return Proof(journal.run, lines, digest, by, signed_lines, sent_lines, fault, lacking)


def _lacking(journal: Journal, demanded: Evidence, signed: int, sent: int) -> Reason | None:
    """Which proof that is demanded is not of the whole run; so many lines have it.

    What an undo or a later run notes in the journal afterwards has its proof in theirs.
    """
    reasons: list[Reason] = []
    if demanded.signed and signed < journal.lines_of_own:
        part = because("journal-signed-in-part", lines=signed)
        reasons.append(part if signed else because("journal-not-signed"))
    if demanded.sent and sent < journal.lines_of_own:
        part = because("journal-sent-in-part", lines=sent)
        reasons.append(part if sent else because("journal-not-sent"))
    return together(reasons)


def _signed(folder: Path, run: str, signers: Path | None) -> tuple[int, str | Reason]:
    """How many lines are signed, and by whom; or why the signature does not hold."""
    statement = _beside(folder, run)
    signature = _signature(statement)
    if not statement.exists() and not signature.exists():
        return 0, ""
    try:
        text = statement.read_text()
        content = (folder / f"{run}.jsonl").read_bytes()
    except (OSError, UnicodeError) as error:
        return 0, because("journal-signature-wrong", words=str(error))
    matched = _STATEMENT.fullmatch(text)
    number = int(matched[2]) if matched else 0
    if text != _statement(run, b"".join(content.splitlines(keepends=True)[:number])):
        return 0, because("journal-not-as-signed", lines=number)
    by = _signer(signature, text, signers)
    return (0 if isinstance(by, Reason) else number), by


def _signer(signature: Path, text: str, signers: Path | None) -> str | Reason:
    """Who signed; without a list of signers, the key, which anybody may have made."""
    if signers is None:
        ran = _keygen("check-novalidate", "-n", NAMESPACE, "-s", str(signature), text=text)
        key = _KEY.search(ran.stdout)
        if key is None or ran.returncode:
            return because("journal-signature-wrong", words=words_of(ran))
        return key[0]
    found = _keygen("find-principals", "-s", str(signature), "-f", str(signers), text=text)
    who = found.stdout.partition("\n")[0]
    if not who or found.returncode:
        return because("journal-signature-wrong", words=words_of(found))
    words = ("-n", NAMESPACE, "-I", who, "-f", str(signers), "-s", str(signature))
    ran = _keygen("verify", *words, text=text)
    return because("journal-signature-wrong", words=words_of(ran)) if ran.returncode else who


def received_in(path: Path) -> Received:
    """The digests in a file of messages, plain or of CADF, one a line. Raises FileUnreadable."""
    found: dict[str, dict[int, frozenset[str]]] = {}
    with files.reading(path, "log of messages"):
        for line in path.read_text().splitlines():
            with suppress(ValueError, LookupError, TypeError, AttributeError):
                # A log has lines of others too, and its own words before a message.
                document = json.loads(line[line.index("{") :])
                # An event of CADF has the message attached.
                document = document.get("attachments", [{"content": document}])[0]["content"]
                told = msgspec.convert(document, _Told)
                lines = found.setdefault(told.run, {})
                known = lines.get(told.journal.line, frozenset())
                # SAFETY: a later message does not replace an earlier one: it would hide that the
                # end of the journal was cut off before the run went on.
                lines[told.journal.line] = known | {told.journal.digest}
    return found


class _Head(msgspec.Struct):
    line: Annotated[int, msgspec.Meta(ge=1)]
    digest: str


class _Told(msgspec.Struct):
    """What a message says of a journal."""

    run: str
    journal: _Head


def _statement(run: str, content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()
    return f"trueup journal {run}\nlines {content.count(10)}\nsha256 {digest}\n"


def _beside(folder: Path, run: str) -> Path:
    return folder / f"{run}.signed"


def _signature(statement: Path) -> Path:
    return statement.with_name(f"{statement.name}.sig")


def _keygen(verb: str, *words: str, text: str) -> Ran:
    """What ssh-keygen says; a failure if it cannot be started."""
    try:
        return keygen(verb, *words, text=text)
    except KeygenFailed as failed:
        return Ran([verb], 1, "", f"ssh-keygen: {failed.reason}")
