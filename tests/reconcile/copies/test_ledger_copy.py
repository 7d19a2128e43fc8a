# SPDX-License-Identifier: Apache-2.0
"""A ledger is copied whole, from either Placement into an empty one."""

import msgspec
import pytest

from tests.reconcile.changes.test_placement_targets import aggregate, more_traits, nested
from trueup.lab.embedded import embedded_placement
from trueup.reconcile import changes
from trueup.reconcile.copies.ledger_copy import (
    AmountBelowOne,
    CopyDiffers,
    CopyRefused,
    LedgerNotEmpty,
    load,
    read,
    save,
    write,
)
from trueup.reconcile.files import FileUnreadable
from trueup.reconcile.sources.cloud import Cloud


def quiet(*_: object) -> None:
    pass


@pytest.fixture
def empty(tmp_path):
    """A cloud whose Placement is empty."""
    with embedded_placement(tmp_path) as placement:
        yield Cloud(nova=None, placement=placement)


def furnished(small) -> None:
    """Nested providers, traits and aggregates too, and a host that is over-full."""
    for made in (nested, more_traits, aggregate):
        assert changes.write(made(small), small.cloud).accepted
    small.sql("placement", "UPDATE inventories SET total = reserved + 1, max_unit = 1")


def test_everything_is_copied_and_a_copy_of_the_copy_is_the_same(on_both, empty, tmp_path):
    furnished(on_both)
    copy = read(on_both.cloud, quiet)
    assert len(copy.consumers) > 10
    assert write(copy, empty, quiet)
    assert read(empty, quiet) == copy
    assert not write(copy, empty, quiet), "it holds the same already"
    save(copy, tmp_path / "ledger.json")
    assert load(tmp_path / "ledger.json") == copy


class Stopped(Exception):
    """As Ctrl-C: after so many writes, nothing further is written."""


@pytest.mark.parametrize("share", [0.02, 0.4, 0.7, 0.97])
def test_a_writing_that_was_stopped_is_continued(small, empty, monkeypatch, share):
    """Among the providers, among the consumers, and while inventories become final."""
    furnished(small)
    copy = read(small.cloud, quiet)
    real, sent = empty.placement.send, []

    def send(method, *words, **more):
        if method != "GET" and len(sent) == allowed:
            raise Stopped
        sent.append(method)
        return real(method, *words, **more)

    allowed = int(share * _writes_of(copy))
    monkeypatch.setattr(empty.placement, "send", send)
    with pytest.raises(Stopped):
        write(copy, empty, quiet)
    monkeypatch.undo()
    assert read(empty, quiet).providers != copy.providers
    assert write(copy, empty, quiet)
    assert read(empty, quiet) == copy


def _writes_of(copy) -> int:
    parts = sum(
        1 + 2 * bool(one.inventories) + bool(one.trait_names) + bool(one.aggregate_uuids)
        for one in copy.providers
    )
    return parts + len(copy.consumers)


def test_a_placement_in_use_that_lacks_a_part_of_the_copy_is_not_written_to(small):
    """The instance may have been deleted since: it would hold something again."""
    copy = read(small.cloud, quiet)
    assert small.call("DELETE", f"/allocations/{min(copy.consumers)}").ok
    before = small.rows()
    with pytest.raises(LedgerNotEmpty):
        write(copy, small.cloud, quiet)
    assert small.rows() == before


def test_what_is_not_empty_is_not_written_to(small, empty):
    copy = read(small.cloud, quiet)
    other = read(empty, quiet)
    before = small.rows()
    with pytest.raises(LedgerNotEmpty) as refused:
        write(other, small.cloud, quiet)
    assert refused.value.consumers == len(copy.consumers)
    assert small.rows() == before


@pytest.mark.parametrize("amount", [0, -7])
def test_an_amount_below_one_is_refused_before_anything_is_written(small, empty, amount):
    """Only a row that was changed by hand has one."""
    consumer = sorted(read(small.cloud, quiet).consumers)[-1]
    statement = "UPDATE allocations SET used = ? WHERE consumer_id = ? AND resource_class_id = 0"
    small.sql("placement", statement, amount, consumer)
    copy = read(small.cloud, quiet)
    with pytest.raises(AmountBelowOne) as refused:
        write(copy, empty, quiet)
    assert (refused.value.consumer, refused.value.amount) == (consumer, amount)
    assert read(empty, quiet).providers == ()


def test_what_placement_refuses_is_named(small, empty):
    copy = read(small.cloud, quiet)
    first = copy.providers[0]
    twice = msgspec.structs.replace(first, uuid="99999999-2222-4333-8444-555555555555")
    with pytest.raises(CopyRefused) as refused:
        write(msgspec.structs.replace(copy, providers=(first, twice)), empty, quiet)
    assert refused.value.part == f"provider {twice.uuid}"


def test_what_somebody_else_wrote_meanwhile_is_noticed(small, empty):
    copy = read(small.cloud, quiet)
    last = copy.providers[-1]

    def meddle(stage: str, done: int, of: int) -> None:
        if (stage, done) == ("consumers", of):
            assert (
                empty.placement.send(
                    "PUT", f"/resource_providers/{last.uuid}", {"name": "another"}
                ).status_code
                == 200
            )

    with pytest.raises(CopyDiffers):
        write(copy, empty, meddle)


def test_a_copy_of_another_format_is_refused(tmp_path):
    (tmp_path / "ledger.json").write_text('{"providers": [], "consumers": {}, "format": 9}')
    with pytest.raises(FileUnreadable, match="its format is 9"):
        load(tmp_path / "ledger.json")
