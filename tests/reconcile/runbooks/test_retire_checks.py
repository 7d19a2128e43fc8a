# SPDX-License-Identifier: Apache-2.0
"""What is checked before a retirement."""

from dataclasses import replace

import pytest

from tests.reconcile.runbooks.preparing import retirement_of, table_of
from tests.scenarios.drafting import Draft
from tests.scenarios.names import uuid_of
from trueup.reconcile.facts import NetworkAgent
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.steps import held_in

HOST = "cell1\n  host h1 VCPU=8 MEMORY_MB=8192\n  host h2 VCPU=8 MEMORY_MB=8192 up\n"


def then(text: str, part: str, host: str = "h1", **more: object) -> tuple[str, str]:
    """The verdict of the one check of this part, and what follows from it."""
    prepared = retirement_of(host, text, **more)
    [check] = [one for one in prepared.checks if one.part == part]
    assert bool(prepared.plan.steps) is not prepared.blocked
    return check.outlook.value, in_words(check.then)


def test_an_empty_host_that_is_down_is_ready():
    assert table_of(retirement_of("h1", HOST)) == ["service h1 planned", "provider h1 planned"]


def test_a_service_that_is_up_would_come_back():
    verdict, words = then(HOST, "service", host="h2")
    assert verdict == "blocks"
    assert "`openstack compute service set --disable h2 nova-compute`, and stop" in words


@pytest.mark.parametrize(
    ("host", "server", "command"),
    [
        ("h1", "", "openstack server evacuate"),
        ("h1", "state=error", "openstack server evacuate"),
        ("h1", "state=resized", "openstack server set --state error"),
        ("h1", "task=powering-off", "openstack server set --state error"),
        ("h1", "volume", "openstack server evacuate"),
        ("h2", "", "openstack server migrate --live-migration"),
        ("h2", "state=stopped", "openstack server migrate"),
        ("h2", "state=shelved", "openstack server shelve --offload"),
        ("h1", "state=soft-delete", "openstack server delete --force"),
    ],
)
def test_instances_leave_first(host, server, command):
    text = f"{HOST}  server web on {host} {server} VCPU=2 MEMORY_MB=256\n"
    assert then(text, "instance", host)[1].startswith(f"run `{command} {uuid_of('web')}`")


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("task=deleting", "its owner deleted it: run `openstack server delete {}` again"),
        ("state=error task=deleting", "its owner deleted it: run `openstack server delete {}`"),
        ("task=soft-deleting", "its owner deleted it: run `openstack server delete {}` again"),
        ("state=shelved task=shelving_offloading", "its owner shelved it, so do not evacuate it"),
        ("state=shelved", "do not evacuate it: what was on its disk is in the image"),
        ("state=shelved_offloaded task=spawning", "do not evacuate it: what was on its disk"),
        ("state=building task=spawning", "its build was cut off, so nothing of it is lost"),
        ("task=a-new-one", "Trueup does not know this state"),
        ("state=soft-delete", "run `openstack server delete --force {}`"),
    ],
)
def test_no_evacuation_is_proposed_for_what_is_deleted_or_shelved(words, first):
    """Followed, the advice to evacuate made deleted and shelved servers run again."""
    text = f"{HOST}  server web on h1 {words} VCPU=2 MEMORY_MB=256\n"
    advice = then(text, "instance")[1]
    assert advice.startswith(first.format(uuid_of("web")))
    assert "openstack server evacuate" not in advice


def test_a_migration_whose_source_is_dead_is_ended_by_hand():
    text = (
        f"{HOST}  server web on h1 task=resize_prep VCPU=2 MEMORY_MB=256\n"
        "  migration of web from h1 to h2 pre-migrating\n"
    )
    verdict, words = then(text, "migration")
    assert verdict == "blocks"
    assert words.startswith("nova-compute on h1 is forced down: start nova-compute on h1; if ")
    assert f"uuid = '{uuid_of('migration-of-web')}' AND status = 'pre-migrating'" in words
    going_on = text.replace("h1", "h3").replace(
        "host h3 VCPU=8 MEMORY_MB=8192", "host h3 VCPU=8 up"
    )
    listed = f"`openstack server migration list --server {uuid_of('web')}`"
    assert listed in then(going_on, "migration", "h3")[1]


def test_of_a_host_that_is_forced_down_and_reports_nothing_is_evacuated():
    text = "cell1\n  host h1 seen=5 VCPU=8\n  server web on h1 VCPU=2 MEMORY_MB=256\n"
    words = then(text, "instance")[1]
    assert words.startswith("do not evacuate it: h1 is forced down, and nova-compute on it still")


@pytest.mark.parametrize(
    ("host", "node", "found"),
    [
        ("H1", "H1", "host 'H1', node 'H1'"),
        ("h1 ", "h1", "host 'h1 ', node 'h1'"),
        (None, "h1", "no host, node 'h1'"),
    ],
)
def test_an_instance_whose_host_is_spelled_otherwise_may_be_there(host, node, found):
    def respelled(draft: Draft) -> None:
        draft.instances[0] = replace(draft.instances[0], host=host, node=node)

    prepared = retirement_of("h1", f"{HOST}  server web on h1 VCPU=2 MEMORY_MB=256\n", respelled)
    [check] = [one for one in prepared.checks if one.part == "instance"]
    assert prepared.blocked
    assert (check.subject, check.found) == (
        uuid_of("web"), f"web may be on the host: Nova names {found}"
    )  # fmt: skip
    assert check.then.endswith("correct host and node of its row in the database of cell1")


@pytest.mark.parametrize(("host", "node"), [("h10", "h10"), (None, "h2"), (None, None)])
def test_an_instance_elsewhere_or_nowhere_is_not_there(host, node):
    def respelled(draft: Draft) -> None:
        draft.instances[0] = replace(draft.instances[0], host=host, node=node)

    prepared = retirement_of("h1", f"{HOST}  server web on h1 VCPU=2 MEMORY_MB=256\n", respelled)
    assert not [one for one in prepared.checks if one.part == "instance"]


@pytest.mark.parametrize(
    ("status", "source", "target", "command"),
    [
        ("finished", "h1", "h2", "openstack server resize confirm"),
        ("finished", "h2", "h1", "openstack server resize revert"),
    ],
)
def test_moves_end_first(status, source, target, command):
    """Also a move whose allocation was lost: Nova would still need both hosts."""
    text = (
        f"{HOST}  server web on {target} state=resized VCPU=2 MEMORY_MB=256\n"
        f"  resize of web from {source} to {target} {status}\n"
    )
    verdict, words = then(text, "migration")
    assert verdict == "blocks"
    assert f"`{command} {uuid_of('web')}`" in words


@pytest.mark.parametrize(
    ("host", "after", "words"),
    [
        ("h2", "", "run `openstack server resize confirm {web}` while nova-compute on h2 is up"),
        ("h1", "", "start nova-compute on h1 and run `openstack server resize confirm {web}`."),
        ("h1", "forget h1\n", "start nova-compute on h1, which registers itself, and run"),
    ],
)
def test_a_resize_is_confirmed_where_the_server_was(host, after, words):
    """Confirming fails where the nova-compute of the source is gone."""
    other = {"h1": "h2", "h2": "h1"}[host]
    text = (
        f"{HOST}  server web on {other} state=resized VCPU=2 MEMORY_MB=256\n"
        f"  resize of web from {host} to {other} finished\n"
        f"holds resize-of-web {host} VCPU=2 MEMORY_MB=256\n"
        f"holds web {other} VCPU=2 MEMORY_MB=256\n{after}"
    )
    assert words.format(web=uuid_of("web")) in then(text, "migration", host)[1]


@pytest.mark.parametrize("after", ["", "forget h1\n"], ids=["service", "service deleted"])
def test_a_resize_whose_host_is_dead_for_good_is_ended_and_then_released(after):
    """What the check says to do, done: the migration holds nothing; the server is not written."""
    text = (
        f"{HOST}  server web on h2 {{}} VCPU=2 MEMORY_MB=256\n  resize of web from h1 to h2 {{}}\n"
        f"holds resize-of-web h1 VCPU=1 MEMORY_MB=256\nholds web h2 VCPU=2 MEMORY_MB=256\n{after}"
    )
    _, words = then(text.format("state=resized", "finished"), "migration")
    assert f"run `openstack server set --state active {uuid_of('web')}`" in words
    assert f"SET status = 'error' WHERE uuid = '{uuid_of('resize-of-web')}'" in words
    ended = retirement_of("h1", text.format("", "error"))
    assert not ended.blocked
    [released] = [step for step in ended.plan.steps if uuid_of("resize-of-web") in step.consumers]
    assert held_in(released.changes[0].after) == {uuid_of("resize-of-web"): None}
    assert table_of(ended)[-1] == "provider h1 planned"


def test_a_stranger_is_left_alone():
    verdict, words = then(HOST + "holds zun h1 VCPU=1\n", "consumer")
    assert verdict == "blocks"
    assert "its owner is not known: have its owner release it" in words


def test_residue_that_cannot_be_judged_keeps_the_host():
    """Its new host does not hold enough: nothing proves that the resources are residue."""
    text = (
        f"{HOST}  server web on h2 VCPU=2 MEMORY_MB=256\n  evacuation of web from h1 done\n"
        "holds web h1 VCPU=2 MEMORY_MB=256\nholds web h2 VCPU=1\n"
    )
    verdict, words = then(text, "consumer")
    assert verdict == "blocks"
    assert "trueup explain instance" in words


@pytest.mark.parametrize("host", ["h1", "h2"])
def test_a_broken_tree_is_repaired_first(host):
    """A child with the root of another host would be deleted with the wrong one."""
    prepared = retirement_of(host, f"{HOST}provider nic of h1 root=h2 NET_BW=100\n", agents=())
    [check] = [one for one in prepared.checks if "broken" in one.found]
    assert (check.subject, check.outlook.value) == (host, "blocks")
    assert "nic: its root is not the top of its tree" in check.found
    assert prepared.plan.steps == ()


def test_a_silent_cell_may_have_the_host_now():
    prepared = retirement_of("h1", HOST + "cell2 silent\n")
    assert "evidence cell2 blocks" in table_of(prepared)


def test_two_cells_with_a_host_of_one_name():
    verdict, words = then(HOST + "cell2\n  host h1 VCPU=8\n", "service")
    assert verdict == "blocks"
    assert "by its uuid" in words


def test_another_provider_has_the_name_of_the_node():
    text = "cell1\n  host h1 VCPU=8 uuid=another\n"
    assert then(text, "provider") == ("blocks", "run `trueup rekey h1` first")


CHILD = HOST + "provider nic of h1 NET_BW=100 traits=CUSTOM_PHYSNET\n"


@pytest.mark.parametrize(
    ("agents", "verdict", "words"),
    [
        (None, "blocks", "say so: --agents-gone"),
        ((), "planned", "deleted"),
        ((NetworkAgent("an-agent", "Open vSwitch agent", False),), "planned", "deleted"),
        ((NetworkAgent("an-agent", "Open vSwitch agent", True),), "blocks", "agent delete ID"),
    ],
)
def test_the_agent_of_a_child_is_stopped_first(agents, verdict, words):
    """It would report the child again, below a provider that is gone."""
    found = then(CHILD, "child provider", agents=agents)
    assert found[0] == verdict
    assert words in found[1]


def test_where_neutron_cannot_be_asked_the_operator_says_that_its_agents_are_gone():
    assert then(CHILD, "child provider", agents_gone=True) == ("planned", "deleted")
    alive = (NetworkAgent("an-agent", "Open vSwitch agent", True),)
    assert then(CHILD, "child provider", agents=alive, agents_gone=True)[0] == "blocks"


def test_a_child_of_nova_needs_no_word_of_neutron():
    text = HOST + "provider gpu of h1 VGPU=8 traits=OWNER_NOVA\n"
    assert then(text, "child provider") == ("planned", "deleted")


def test_aggregates_lose_the_host():
    text = HOST + "aggregate rack h1 h2\naggregate other h2\n"
    assert "aggregate rack planned" in table_of(retirement_of("h1", text))
    assert "aggregate other planned" not in table_of(retirement_of("h1", text))


def test_also_those_that_placement_cannot_have():
    """The uuid of `[x]` is this text, which is none."""
    text = HOST + "aggregate rack h1\naggregate [x] h1 h2\n"
    assert "aggregate [x] planned" in table_of(retirement_of("h1", text))
    text = HOST + "aggregate [x] h2\n"
    assert "aggregate [x] planned" not in table_of(retirement_of("h1", text))


def test_a_compute_node_without_service_is_for_nova_to_delete():
    prepared = retirement_of("h1", HOST, lambda draft: draft.services.pop(0))
    assert "service h1 blocks" in table_of(prepared)
