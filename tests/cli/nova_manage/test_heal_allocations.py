# SPDX-License-Identifier: Apache-2.0
"""heal_allocations beside Nova 34's own, on the same databases and the same Placement."""

from datetime import timedelta

import pytest

from tests.cli.nova_manage.twins import Twins, same

pytestmark = pytest.mark.xdist_group("nova-manage")

UNKNOWN = "11111111-2222-3333-4444-555555555555"
HEAL = "heal_allocations"


# Each option of Nova's --help, and what both programs make of it in a cloud where two instances
# lack their allocations: the words, and the return code.
OPTIONS = {
    "nothing": ([], 0),
    "--verbose": (["--verbose"], 0),
    "--dry-run": (["--verbose", "--dry-run"], 4),
    "--dry-run without --verbose": (["--dry-run"], 4),
    "--max-count": (["--verbose", "--max-count", "1"], 1),
    "--max-count of all": (["--verbose", "--max-count", "2"], 1),
    "--max-count of more": (["--verbose", "--max-count", "30"], 0),
    "--max-count 0": (["--verbose", "--max-count", "0"], 127),
    "--max-count of no number": (["--max-count", "many"], 127),
    "--skip-port-allocations": (["--verbose", "--skip-port-allocations"], 0),
    "--cell": (["--verbose", "--cell", "{cell}"], 0),
    "--cell unknown": (["--verbose", "--cell", UNKNOWN], 127),
    "--instance": (["--verbose", "--instance", "{instance}"], 0),
    "--instance beside --max-count": (["--instance", "{instance}", "--max-count", "0"], 0),
    "--instance and --dry-run": (["--verbose", "--dry-run", "--instance", "{instance}"], 4),
    "--instance unknown": (["--instance", UNKNOWN], 127),
    "--instance and --cell": (["--instance", "{instance}", "--cell", "{cell}"], 127),
    "--force alone": (["--force"], 127),
    "--force": (["--verbose", "--force", "--instance", "{instance}"], 0),
    "--force and --dry-run": (["--verbose", "--dry-run", "--force", "--instance", "{instance}"], 4),
    "an option that is not there": (["--nosuch"], 2),
}


@pytest.mark.parametrize(("words", "code"), OPTIONS.values(), ids=OPTIONS)
def test_each_option_as_nova(twins: Twins, words: list[str], code: int) -> None:
    first, second, *_ = twins.actives()
    names = {"cell": first.cell.uuid, "instance": first.uuid}

    def arrange() -> None:
        twins.hold(first)
        twins.hold(second)

    both = twins.both(HEAL, *(word.format(**names) for word in words), arrange=arrange)
    same(both)
    assert both.ours.code == code


ON_UPSTREAM = ["--verbose", "--dry-run", "--max-count", "--skip-port-allocations", "--cell"]
ON_UPSTREAM += ["--instance", "--instance unknown", "--force", "--force and --dry-run"]


@pytest.mark.parametrize(
    ("words", "code"), [OPTIONS[name] for name in ON_UPSTREAM], ids=ON_UPSTREAM
)
def test_an_option_on_upstreams_placement(
    twins_on_upstream: Twins, words: list[str], code: int
) -> None:
    test_each_option_as_nova(twins_on_upstream, words, code)


@pytest.mark.parametrize("more", [[], ["--force"], ["--dry-run"]], ids=" ".join)
def test_an_instance_that_was_deleted_with_sql(twins: Twins, more: list[str]) -> None:
    """After `update instances set deleted=1`, its mapping is still there."""
    one = twins.actives()[0]

    def arrange() -> None:
        twins.hold(one)
        twins.change(one, deleted=1, deleted_at="2024-10-02 12:00:00")

    both = twins.both(HEAL, "--verbose", "--instance", one.uuid, *more, arrange=arrange)
    same(both)
    assert both.ours.code == 4
    assert one.uuid not in both.ledgers[1]


def test_nothing_is_missing(twins: Twins) -> None:
    both = twins.both(HEAL, "--verbose")
    same(both)
    assert both.ours.code == 4


def test_force_ends_as_novas_for_an_instance_that_is_right(twins: Twins) -> None:
    """Nova writes the same again; ours says that it is up-to-date."""
    both = twins.both(HEAL, "--verbose", "--force", "--instance", twins.actives()[0].uuid)
    assert both.ours.code == both.nova.code == 0
    assert both.ledgers[1] == both.ledgers[0]
    assert "is up-to-date" in both.ours.out


def test_an_instance_that_cannot_be_checked_is_not_called_up_to_date(twins: Twins) -> None:
    """As where a cell's services have not reported for an hour: it may be a lagging replica."""
    one = twins.actives()[0]
    twins.keep_alive(timedelta(hours=1))
    ran = twins.ours(HEAL, "--instance", one.uuid)
    assert ran.code == 3
    assert ran.out.startswith(f"Instance {one.uuid} could not be checked: ")


def test_a_wrong_project_and_user(twins: Twins) -> None:
    one = twins.actives()[0]

    def arrange() -> None:
        twins.hold(one, twins.right(one), project="nobody", user="nobody")

    both = twins.both(HEAL, "--verbose", "--instance", one.uuid, arrange=arrange)
    same(both)
    assert both.ours.code == 0
    same(twins.both(HEAL, "--verbose", "--dry-run", "--instance", one.uuid, arrange=arrange))
    same(twins.both(HEAL, "--verbose", arrange=arrange))


def test_an_instance_in_a_task(twins: Twins) -> None:
    one = twins.actives()[0]

    def arrange() -> None:
        twins.hold(one)
        twins.change(one, task_state="migrating")

    same(twins.both(HEAL, "--verbose", "--instance", one.uuid, arrange=arrange))


def test_an_instance_on_no_host(twins: Twins) -> None:
    one = twins.actives()[0]

    def arrange() -> None:
        twins.hold(one)
        twins.change(one, node=None, host=None)

    same(twins.both(HEAL, "--verbose", "--instance", one.uuid, arrange=arrange))


def test_an_unknown_compute_node(twins: Twins) -> None:
    one = twins.actives()[0]

    def arrange() -> None:
        twins.hold(one)
        twins.change(one, node="nowhere")

    both = twins.both(HEAL, "--verbose", "--instance", one.uuid, arrange=arrange)
    same(both)
    assert both.ours.code == 2


def test_invariant_14_more_than_the_limit_is_not_released(twins: Twins) -> None:
    first, second, third, *_ = twins.actives()
    twins.keep_alive()
    for one in (first, second):
        more = {name: amount + 1 for name, amount in one.resources().items()}
        twins.hold(one, {one.host.uuid: more})
    twins.hold(third)
    before = twins.ledger()
    words = (HEAL, "--verbose", "--interval", "0.1")
    refused = twins.ours(*words, "--limit", "1")
    assert refused.code == 255
    assert "raise the limit with --limit 2" in refused.out
    assert twins.ledger() == before
    twins.keep_alive()
    ran = twins.ours(*words, "--limit", "2")
    assert ran.code == 0, ran.out
    held = {uuid: dict(sorted(row.items())) for uuid, row in twins.right(first).items()}
    assert twins.ledger()[first.uuid][0] == held


def test_what_only_adds_has_no_limit(twins: Twins) -> None:
    twins.keep_alive()
    for one in twins.actives()[:2]:
        twins.hold(one)
    assert twins.ours(HEAL, "--limit", "0").code == 0


def test_wrong_amounts_are_healed(twins: Twins) -> None:
    """Nova's command calls them up-to-date."""
    one = twins.actives()[0]
    wrong = {one.host.uuid: {"VCPU": 1, "MEMORY_MB": 1}}
    words = (HEAL, "--verbose", "--instance", one.uuid)
    both = twins.both(*words, "--dry-run", arrange=lambda: twins.hold(one, wrong))
    assert f"[dry-run] Update allocations for instance {one.uuid}" not in both.nova.out
    ran = twins.ours(*words, "--interval", "0.01")
    assert (ran.code, f"Successfully updated allocations for instance {one.uuid}." in ran.out) == (
        0,
        True,
    )
    assert twins.ledger()[one.uuid][0] == {
        uuid: dict(sorted(row.items())) for uuid, row in twins.right(one).items()
    }
