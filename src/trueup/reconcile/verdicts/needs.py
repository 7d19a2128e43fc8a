# SPDX-License-Identifier: Apache-2.0
"""Needs: what the findings of a defect rest on, and why some defects were not judged. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from trueup.reconcile.facts import INSTANCE_MAPPINGS as MAPPINGS_OF_INSTANCES
from trueup.reconcile.facts import OWNERS as OWNERS_OF_CONSUMERS
from trueup.reconcile.facts import Facts


class Need(StrEnum):
    """What a defect needs to be judged.

    COMPLETE: every source answered, completely and up to date. Without it, each finding of the
    defect becomes `Unchecked`. Without any other need, the defect is not asked at all.
    """

    COMPLETE = "complete evidence"
    BUILD_REQUESTS = "build requests"
    HOST_MAPPINGS = "host mappings"
    HYPERVISORS = "hypervisors"
    INSTANCE_MAPPINGS = MAPPINGS_OF_INSTANCES
    NUMA_TOPOLOGIES = "NUMA topologies"
    OWNERS = OWNERS_OF_CONSUMERS
    PCI_DEVICES = "PCI devices"
    PORTS = "ports"


class Scope(StrEnum):
    """What a defect can be judged from: a whole cloud, or also a selection."""

    SELECTION = "a selection"
    WHOLE_CLOUD = "a whole cloud"


@dataclass(frozen=True, slots=True)
class NotJudged:
    """A defect that an audit did not judge, and what it lacked: a need, or a whole cloud."""

    defect: str
    lacks: str


# How facts show that they meet a need; otherwise their coverage says what no source gives.
_GIVEN: Mapping[Need, Callable[[Facts], bool]] = {
    Need.COMPLETE: lambda facts: True,
    Need.HYPERVISORS: lambda facts: facts.domains_read or bool(facts.domains),
    Need.OWNERS: lambda facts: facts.has(OWNERS_OF_CONSUMERS) or bool(facts.owners),
    Need.PORTS: lambda facts: facts.ports_read or bool(facts.ports),
}


def lacking(needs: Iterable[Need], scope: Scope, facts: Facts) -> str:
    """What these facts lack for a defect with these needs; or ""."""
    if scope is Scope.WHOLE_CLOUD and facts.providers_in_scope is not None:
        return Scope.WHOLE_CLOUD.value
    for need in needs:
        given = _GIVEN.get(need)
        if not (given(facts) if given else facts.has(need.value)):
            return need.value
    return ""
