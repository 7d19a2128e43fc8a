# SPDX-License-Identifier: Apache-2.0
from trueup.model.requests import CandidateRequest, RequestGroup


def test_only_groups_with_a_suffix_need_one_provider() -> None:
    assert not RequestGroup().one_provider
    assert RequestGroup("_NET1").one_provider


def test_a_request_names_the_classes_of_all_its_groups() -> None:
    groups = (
        RequestGroup("", (("VCPU", 1), ("MEMORY_MB", 2))),
        RequestGroup("1", (("VCPU", 1),)),
        RequestGroup("2"),
    )
    assert CandidateRequest(groups).resource_classes == {"VCPU", "MEMORY_MB"}
