# SPDX-License-Identifier: Apache-2.0
"""What of a journal can be proven, and what somebody who edits it is caught by."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.signers import new_key
from tests.reconcile.planning import planned
from trueup.reconcile.runs.journal import Journal, Origin, Outcome, continued
from trueup.reconcile.runs.journals import applying, read
from trueup.reconcile.runs.proof import Evidence, NotSigned, Proof, prove, received_in, seal

PLAN = planned()


@pytest.fixture
def journal(tmp_path) -> Journal:
    with applying(PLAN, tmp_path, Origin()) as journal:
        for step in PLAN.steps:
            journal.record(Outcome(step.id, "done"))
    return journal


@pytest.fixture
def key(tmp_path) -> Path:
    path = new_key(tmp_path / "key")
    (tmp_path / "signers").write_text(f"controller {path.with_suffix('.pub').read_text()}")
    return path


def proof(folder: Path, signers: bool = True, received: str = "") -> Proof:
    path = folder / "messages"
    path.write_text(received)
    evidence = Evidence(folder / "signers" if signers else None, received_in(path))
    [one] = prove(folder, evidence)
    return one


def fault(one: Proof) -> str:
    return one.fault.name if one.fault else ""


def cut(folder: Path, run: str) -> None:
    """Take the last line away. What is left is a whole chain of digests."""
    path = folder / f"{run}.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


def test_without_a_signature_the_digests_prove_what_they_can(journal, tmp_path):
    assert proof(tmp_path, signers=False) == Proof(journal.run, *journal.head)
    cut(tmp_path, journal.run)
    assert fault(proof(tmp_path, signers=False)) == "", "the end may be missing"
    path = tmp_path / f"{journal.run}.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert fault(proof(tmp_path, signers=False)) == "journal-half-line"
    path.write_bytes(whole)
    path = tmp_path / f"{journal.run}.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"done"', b'"lost"'))
    assert fault(proof(tmp_path, signers=False)) == "journal-unreadable"


def test_a_signature_names_its_signer_and_the_lines(journal, tmp_path, key):
    seal(journal, tmp_path, key)
    one = proof(tmp_path)
    assert (one.signed_by, one.signed_lines, fault(one)) == ("controller", one.lines, "")
    assert "key SHA256:" in proof(tmp_path, signers=False).signed_by
    by_hand = ["ssh-keygen", "-Y", "verify", "-f", "signers", "-I", "controller"]
    by_hand += ["-n", "trueup-journal", "-s", f"{journal.run}.signed.sig"]
    text = (tmp_path / f"{journal.run}.signed").read_bytes()
    subprocess.run(by_hand, input=text, cwd=tmp_path, check=True, capture_output=True)


def test_lines_after_a_signature_are_counted(journal, tmp_path, key):
    seal(journal, tmp_path, key)
    with applying(PLAN, tmp_path, Origin()) as again:
        again.take_back(PLAN.steps[0].id, "an-undo-1", ({},))
    one = proof(tmp_path)
    assert (one.signed_lines, fault(one)) == (one.lines - 1, "")


def lacking(folder: Path, journal: Journal, line: int = 0) -> set[str]:
    """What is missing of a run that is to be signed and sent; its line `line` was sent."""
    received = {journal.run: {line: {journal.digests[line - 1]}}} if line else {}
    [one] = prove(folder, Evidence(folder / "signers", received, signed=True, sent=True))
    assert one.fault is None
    return set(one.lacking.names - {"several"}) if one.lacking else set()


def test_a_proof_that_is_demanded_has_to_be_of_the_whole_run(journal, tmp_path, key):
    assert lacking(tmp_path, journal) == {"journal-not-signed", "journal-not-sent"}
    seal(journal, tmp_path, key)
    assert lacking(tmp_path, journal) == {"journal-not-sent"}
    assert lacking(tmp_path, journal, len(journal.digests)) == set()
    with applying(PLAN, tmp_path, Origin()) as again:
        again.take_back(PLAN.steps[0].id, "an-undo-1", ({},))
    assert lacking(tmp_path, again, len(journal.digests)) == set(), "the undo has its own"
    with applying(PLAN, tmp_path, Origin()) as later:
        later.take_back(PLAN.steps[0].id, "an-undo-1", ({},))
    [first, _] = sorted(tmp_path.glob("*.jsonl"))
    with first.open("ab+") as file:
        grown = continued(file, first)
        grown.intend(PLAN.steps[0])
    one, other = prove(tmp_path, Evidence(tmp_path / "signers", signed=True))
    assert (one.lacking.name, other.lacking.name) == (
        "journal-signed-in-part",
        "journal-not-signed",
    )


def test_what_was_signed_is_what_must_be_there(journal, tmp_path, key):
    seal(journal, tmp_path, key)
    statement = tmp_path / f"{journal.run}.signed"
    signature = tmp_path / f"{journal.run}.signed.sig"
    kept = statement.read_text()
    statement.write_text(kept.replace("lines 4", "lines 3"))
    assert fault(proof(tmp_path)) == "journal-not-as-signed"
    statement.write_text(kept)
    cut(tmp_path, journal.run)
    assert fault(proof(tmp_path)) == "journal-not-as-signed"
    signature.unlink()
    statement.unlink()
    seal(read(journal.run, tmp_path), tmp_path, key)
    (tmp_path / "signers").write_text("")
    assert fault(proof(tmp_path)) == "journal-signature-wrong"
    signature.unlink()
    assert fault(proof(tmp_path, signers=False)) == "journal-signature-wrong"


def test_a_signature_of_another_purpose_is_none(journal, tmp_path, key):
    seal(journal, tmp_path, key)
    statement = tmp_path / f"{journal.run}.signed"
    (tmp_path / f"{statement.name}.sig").unlink()
    sign = ["ssh-keygen", "-Y", "sign", "-q", "-n", "file", "-f", str(key), str(statement)]
    subprocess.run(sign, check=True, capture_output=True)
    assert fault(proof(tmp_path)) == "journal-signature-wrong"
    assert fault(proof(tmp_path, signers=False)) == "journal-signature-wrong"


def test_what_cannot_be_signed_leaves_an_earlier_signature(journal, tmp_path, key):
    seal(journal, tmp_path, key)
    with pytest.raises(NotSigned):
        seal(journal, tmp_path, tmp_path / "nowhere")
    assert proof(tmp_path).signed_by == "controller"


def test_messages_catch_who_computes_all_digests_anew(journal, tmp_path):
    lines, digest = journal.head
    document = {"run": journal.run, "journal": {"line": lines, "digest": digest}}
    plain, cadf = json.dumps(document), json.dumps({"attachments": [{"content": document}]})
    for told in (plain, f"no message\n<110>1 - h trueup 1 run-ended - {cadf}\n{{broken\n[]\n"):
        one = proof(tmp_path, signers=False, received=told)
        assert (one.received_lines, fault(one)) == (lines, "")
    cut(tmp_path, journal.run)
    assert fault(proof(tmp_path, signers=False, received=plain)) == "journal-not-as-sent"
    (tmp_path / f"{journal.run}.jsonl").unlink()
    assert fault(proof(tmp_path, signers=False, received=plain)) == "journal-gone"


def test_a_message_of_a_later_run_does_not_hide_what_was_cut_off(journal, tmp_path):
    lines, digest = journal.head
    told = [
        json.dumps({"run": journal.run, "journal": {"line": lines, "digest": one}})
        for one in ("what it was", digest)
    ]
    for messages in (told, told[::-1]):
        one = proof(tmp_path, signers=False, received="\n".join(messages))
        assert fault(one) == "journal-not-as-sent"


@pytest.mark.parametrize(
    ("run", "line", "digest"),
    [("RUN", "4", "a"), ("RUN", 0, "a"), ("RUN", -1, "a"), ("RUN", 4, None), (7, 4, "a")],
)
def test_lines_of_others_are_passed_over(journal, tmp_path, run, line, digest):
    run = journal.run if run == "RUN" else run
    told = json.dumps({"run": run, "journal": {"line": line, "digest": digest}})
    real = json.dumps({"run": journal.run, "journal": {"line": 1, "digest": journal.digests[0]}})
    one = proof(tmp_path, signers=False, received=f"{told}\n{real}")
    assert (one.received_lines, fault(one)) == (1, "")
