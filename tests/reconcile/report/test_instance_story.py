# SPDX-License-Identifier: Apache-2.0
"""The story of an instance tells what each source says, what is right, and what is waited for."""

from dataclasses import replace

from tests.reconcile.planning import BROKEN, facts_of
from tests.reconcile.report.telling import section, story_of
from tests.scenarios.drafting import NOW, uuid_of
from trueup.reconcile.audit import observation
from trueup.reconcile.report.instance_story import instance_story
from trueup.reconcile.verdicts import AuditOptions

EVACUATED = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  host h2 VCPU=8 MEMORY_MB=8192 up
  server web on h2 VCPU=2 MEMORY_MB=256
  evacuation of web from h1 done
guest web on h2 running
holds web h1 VCPU=2 MEMORY_MB=256
holds web h2 VCPU=2 MEMORY_MB=256
"""


def test_each_source_is_told():
    reported = story_of("instance", "web", EVACUATED)
    assert section(reported, "Nova says") == (
        "cell1 has web as active, no task, on host h2, changed last at 2026-11-20 12:00:00.",
        "Its instance mapping names cell1.",
    )
    assert section(reported, "Moves") == (
        "The status of an evacuation from h1 is done: it is over.",
    )
    assert section(reported, "The ledger holds")[0] == (
        "It holds VCPU=2 MEMORY_MB=256 on h1; VCPU=2 MEMORY_MB=256 on h2."
    )
    assert section(reported, "The hypervisor says") == (
        "The hypervisor of h2 has it as web, running.",
        "The hypervisor of h1 does not have it.",
    )


def test_what_it_should_hold_is_told_with_the_arithmetic():
    assert section(story_of("instance", "web", BROKEN), "It should hold") == (
        "Its flavor a-flavor has 2 vCPUs, 256 MB of memory, and 6 + 0 (ephemeral) GB of disk.",
        "Its flavor asks for VCPU=2 MEMORY_MB=256 DISK_GB=6 of h1.",
        "In all: VCPU=2 MEMORY_MB=256 DISK_GB=6 on h1.",
    )


def test_swap_and_volumes_are_part_of_the_arithmetic():
    facts = facts_of(BROKEN)
    [web] = [row for row in facts.instances if row.name == "web"]
    swapping = replace(web, flavor=replace(web.flavor, swap_mb=1500), volume_backed=True)
    others = tuple(row for row in facts.instances if row.name != "web")
    changed = replace(facts, instances=(*others, swapping))
    reported = instance_story(web.uuid, observation(changed, AuditOptions()))
    words, *_, total = section(reported, "It should hold")
    assert words.endswith(
        "and 0 (its root disk is a volume) + 0 (ephemeral) + 2 (swap of 1500 MB) GB of disk."
    )
    assert total == "In all: VCPU=2 MEMORY_MB=256 DISK_GB=2 on h1."


def test_a_finding_is_told_with_its_evidence_and_its_step():
    reported = story_of("instance", "web", EVACUATED)
    assert reported.findings == (f"evacuation-residue:{uuid_of('web')}",)
    assert not reported.incomplete
    assert section(reported, "Judgement")[0].startswith("medium: evacuation-residue. ")
    done = section(reported, "What would be done")
    assert (
        "Step 1 changes VCPU=2 MEMORY_MB=256 on h1; VCPU=2 MEMORY_MB=256 on h2 to "
        "VCPU=2 MEMORY_MB=256 on h2." in done
    )
    assert "Until then Placement counts for h1: VCPU=2 MEMORY_MB=256 too many." in done


def test_an_instance_in_motion_says_what_is_waited_for():
    moving = "cell1\n  host h1 VCPU=8\n  server web on h1 task=migrating\nholds web h1 VCPU=1\n"
    reported = story_of("instance", "web", moving)
    assert section(reported, "Judgement") == ("It is left alone: its task state is migrating.",)
    assert section(reported, "Waited for") == (
        "The end of what is going on: its task state is migrating.",
    )
    assert section(reported, "What would be done") == ()


def test_a_silent_cell_is_named_and_the_story_is_incomplete():
    reported = story_of("instance", "old", f"{BROKEN}cell2 silent\n")
    assert reported.incomplete
    assert "cell2 did not answer: it is down." in section(reported, "Nova says")
    assert section(reported, "Waited for") == ("The answer of cell2: it is down.",)


def test_an_instance_on_a_host_that_cannot_be_checked_is_not_said_to_be_right():
    text = (
        "cell1\n  host h1 VCPU=8 MEMORY_MB=99 uuid=another\n  server web on h1 VCPU=1 MEMORY_MB=9\n"
    )
    reported = story_of("instance", "web", text)
    assert reported.incomplete
    [sentence] = section(reported, "Judgement")
    assert sentence.startswith("It could not be checked: its compute node has uuid ")
    [uncertain] = (row for row in section(reported, "It should hold") if "Not certain" in row)
    assert uncertain == "Not certain: the provider of host h1, node h1 is not known."


def test_an_instance_in_order_is_said_to_be_right():
    right = "cell1\n  host h1 VCPU=8 MEMORY_MB=99\n  server web on h1 VCPU=1 MEMORY_MB=9\n"
    reported = story_of("instance", "web", f"{right}holds web h1 VCPU=1 MEMORY_MB=9\n")
    assert section(reported, "Judgement") == ("Nothing is wrong with it.",)
    assert section(reported, "The hypervisor says") == (
        "The hypervisors were not asked; --libvirt asks them.",
    )


def test_a_deleted_instance_should_hold_nothing():
    reported = story_of("instance", "old", BROKEN)
    assert section(reported, "Nova says") == (
        "cell1 has old as deleted at 2026-11-21 11:00:00, on host h1.",
        "Its instance mapping names cell1.",
    )
    assert section(reported, "It should hold") == (
        "Nothing: an instance that is deleted holds nothing.",
    )


def test_a_migrations_consumer_is_told_with_its_instance():
    text = EVACUATED.replace("evacuation of", "resize of").replace("h1 done", "h1 confirmed")
    text += "holds resize-of-web h1 VCPU=1\n"
    reported = story_of("consumer", "resize-of-web", text)
    assert section(reported, "Nova")[0] == (
        f"It is the consumer of a resize of instance {uuid_of('web')}."
    )
    assert section(reported, "Nova says")[0].startswith("cell1 has web as active")


def test_a_consumer_that_nobody_knows_is_told_by_what_it_holds():
    reported = story_of("consumer", "zun", "cell1\n  host h1 VCPU=8\nholds zun h1 VCPU=1\n")
    assert section(reported, "Nova") == ("No cell that answered has an instance with this uuid.",)
    assert section(reported, "Ledger")[0] == "It holds VCPU=1 on h1."


def test_the_document_has_the_same_sentences():
    reported = story_of("instance", "web", EVACUATED)
    document = reported.document()
    assert document["subject"] == {"kind": "instance", "uuid": uuid_of("web"), "name": "web"}
    assert document["taken_at"] == f"{NOW.isoformat()}Z"
    assert [one["about"] for one in document["sections"]] == [
        one.about for one in reported.sections
    ]
    assert document["findings"] == [f"evacuation-residue:{uuid_of('web')}"]


def test_an_instance_of_which_no_cell_has_a_row_is_told_by_its_mapping():
    told = story_of("instance", "web", "cell1\n  host h1 VCPU=8\nmap web cell1\n")
    assert told.incomplete
    assert section(told, "Nova") == (
        "No cell that answered has an instance with this uuid.",
        "Its instance mapping names cell1.",
    )
    assert section(told, "Judgement") == (
        "It could not be checked: Nova maps it to cell1, which has no row of it: the row is lost, "
        "or was removed by hand.",
    )


def test_one_that_is_queued_for_deletion_may_have_no_row():
    told = story_of("instance", "web", "cell1\n  host h1 VCPU=8\nmap web cell1 queued\n")
    assert not told.incomplete
    assert section(told, "Nova")[1] == (
        "Its instance mapping names cell1, and it is queued for deletion."
    )
