# SPDX-License-Identifier: Apache-2.0
"""A Neutron that has the ports of the facts, in memory: the one that a rehearsal writes to."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from trueup.reconcile.facts import Port
from trueup.reconcile.sources.neutron import Neutron, allocation_in
from trueup.reconcile.sources.nova.frozen import Accepted

_OK = 200


class FrozenNeutron(Neutron):
    """Keeps ports by uuid. It knows no network agent."""

    def __init__(self, ports: Iterable[Port]) -> None:
        self._ports = {row.id: row for row in ports}

    @property
    def left(self) -> tuple[Port, ...]:
        """The ports as they are now."""
        return tuple(self._ports.values())

    def port(self, uuid: str) -> Mapping[str, Any] | None:
        row = self._ports.get(uuid)
        if row is None:
            return None
        return {"binding:profile": row.profile, "revision_number": row.revision}

    def set_profile(
        self, uuid: str, profile: Mapping[str, Any], revision: int | str | None
    ) -> Accepted:
        """Replaces the profile. Nobody else writes here, so the revision is the one just read."""
        assert isinstance(revision, int)
        self._ports[uuid] = replace(
            self._ports[uuid],
            profile=dict(profile),
            allocation=allocation_in(profile, uuid),
            revision=revision + 1,
        )
        return Accepted(_OK)
