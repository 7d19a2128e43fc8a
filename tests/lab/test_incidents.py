# SPDX-License-Identifier: Apache-2.0
from datetime import datetime

from tests.lab.reading import instances, rows
from trueup.lab.incidents import delete_as_nova, delete_by_hand
from trueup.lab.survey import survey

WHEN = datetime(2026, 11, 21, 3, 0, 0)


def test_nova_marks_every_row_and_the_mapping_but_a_deletion_by_hand_marks_one_row(make_cloud):
    with make_cloud() as cloud:
        by_nova, by_hand = survey(cloud.databases, cloud.placement).instances[:2]
        delete_as_nova(cloud.databases, by_nova, WHEN)
        delete_by_hand(by_hand, WHEN)
        found = instances(cloud)
        mapped = {
            row["instance_uuid"]: row["queued_for_delete"]
            for row in rows(cloud, "nova_api", "SELECT * FROM instance_mappings")
        }
        extra = {
            row["instance_uuid"]: (row["deleted"], row["id"])
            for cell in ("cell1", "cell2")
            for row in rows(cloud, f"nova_{cell}", "SELECT * FROM instance_extra")
        }
    assert found[by_nova.uuid]["deleted"] == by_nova.number
    assert found[by_nova.uuid]["terminated_at"] == found[by_nova.uuid]["deleted_at"]
    assert extra[by_nova.uuid][0] == extra[by_nova.uuid][1]
    assert mapped[by_nova.uuid] == 1
    assert found[by_hand.uuid]["deleted"] == 1
    assert extra[by_hand.uuid][0] == 0
    assert mapped[by_hand.uuid] == 0
