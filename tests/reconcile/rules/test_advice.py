# SPDX-License-Identifier: Apache-2.0
"""What ends what is under way, and how an instance gets off its host."""

import re

import pytest
from nova.compute import task_states, vm_states
from nova.objects import fields

from tests.scenarios.names import uuid_of
from tests.scenarios.reading import read_cloud
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.rules.advice import STATES, TASKS, cannot_end, ending_of, way_off

HOSTS = "cell1\n  host h1 VCPU=8 MEMORY_MB=8192\n  host h2 VCPU=8 MEMORY_MB=8192 up\n"
# Followed, these commands destroy or revive something; each needs the words that say so.
REBUILDS = re.compile(r"openstack server evacuate")


def told(words: str, host: str = "h1") -> str:
    facts = read_cloud(f"{HOSTS}  server web on {host} {words} VCPU=2 MEMORY_MB=256\n").facts()
    return way_off(facts.alive[uuid_of("web")], facts)


def test_each_task_and_state_of_nova_has_a_sentence():
    assert task_states.MIGRATING in TASKS
    assert {one for one in fields.InstanceTaskState.ALL if one} <= TASKS.keys()
    assert {*fields.InstanceState.ALL} - {"pending", vm_states.SOFT_DELETED} <= STATES.keys()


@pytest.mark.parametrize("task", sorted(TASKS))
@pytest.mark.parametrize("host", ["h1", "h2"])
def test_where_an_evacuation_is_proposed_the_lost_disk_is_named(task, host):
    words = told(f"task={task}", host)
    assert "{" not in words
    if REBUILDS.search(words):
        assert host == "h1"
        assert "its local disk is lost" in words
        assert f"start nova-compute on {host}" in words


@pytest.mark.parametrize("state", sorted(STATES))
def test_of_a_volume_no_disk_is_lost(state):
    assert "local disk is lost" not in told(f"state={state} volume")


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("server web on h1 task=powering-off", "nova-compute on h1 is forced down"),
        ("server web on h2 task=powering-off", ""),
        ("server web on h2 task=migrating", "no migration of it is under way"),
        ("server web on h2 task=migrating\n  live-migration of web from h2 running", ""),
        (
            "server web on h2 task=resize_prep\n  migration of web from h1 to h2 pre-migrating",
            "nova-compute on h1 is forced down",
        ),
    ],
)
def test_what_cannot_end_by_itself(lines, reason):
    facts = read_cloud(f"{HOSTS}  {lines}\n").facts()
    assert in_words(cannot_end(facts.alive[uuid_of("web")], facts)) == reason


def test_a_build_that_no_nova_compute_has_is_deleted():
    facts = read_cloud(f"{HOSTS}  server web state=building task=scheduling\n").facts()
    words = ending_of(facts.alive[uuid_of("web")], facts)
    assert words.startswith("no nova-compute has it: run `openstack server delete")


def test_a_live_migration_is_aborted_first():
    lines = "server web on h2 task=migrating\n  live-migration of web from h2 running"
    facts = read_cloud(f"{HOSTS}  {lines}\n").facts()
    move = uuid_of("live-migration-of-web")
    words = ending_of(facts.alive[uuid_of("web")], facts)
    assert f"`openstack server migration abort {uuid_of('web')} {move}`" in words


@pytest.mark.parametrize("task", ["rebuilding", "rebuild_spawning"])
def test_what_an_evacuation_left_is_not_rebuilt(task):
    """Its owner never asked for a rebuild, which would make its disk anew."""
    lines = f"server web on h2 task={task}\n  evacuation of web from h2 to h1 accepted\n"
    facts = read_cloud(f"{HOSTS}  {lines}").facts()
    web = facts.alive[uuid_of("web")]
    for words in (ending_of(web, facts), way_off(web, facts)):
        assert "do not rebuild it" in words
        assert "then rebuild it again" not in words
        assert "UPDATE migrations" in words
