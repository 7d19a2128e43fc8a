# SPDX-License-Identifier: Apache-2.0
"""Bindings: whether the binding profiles of an instance's ports name the right providers. Pure.

Nova writes the provider of each request group into the port's binding profile. When the port is
detached, Nova reads the profile to release the resources. When a QoS policy changes, Neutron reads
it to allocate more or less.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from trueup.reconcile.expected import RequestedGroup, requested_groups_on
from trueup.reconcile.facts import Amounts, Facts, Instance, Port, grouped
from trueup.reconcile.steps import Change, PortBinding, Profile


@dataclass(frozen=True, slots=True)
class WrongBinding:
    """A port whose binding profile does not name the providers of its resources.

    `groups` are its request groups with their possible providers. If a group has several, the right
    one is not known.
    """

    port: Port
    groups: tuple[RequestedGroup, ...]

    @property
    def right(self) -> Mapping[str, str] | None:
        """The right profile, as provider by request group; None if it is not known."""
        if any(len(requested.providers) != 1 for requested in self.groups):
            return None
        return {requested.group.id: requested.providers[0] for requested in self.groups}


def wrong_bindings(
    root: str, instance: Instance, amounts: Amounts, facts: Facts
) -> Iterator[WrongBinding]:
    """The ports whose profile is wrong while the instance holds these amounts on this host."""
    groups = requested_groups_on(root, instance, facts, amounts)
    for rows in grouped((requested.port.id, requested) for requested in groups).values():
        found = WrongBinding(rows[0].port, rows)
        is_right = found.right is not None and found.port.allocation == found.right
        if not is_right and found.port.bound_on(instance.host) and _is_held(rows, amounts):
            yield found


def _is_held(groups: Iterable[RequestedGroup], amounts: Amounts) -> bool:
    """Whether one of its providers gives each group; otherwise the claim itself is wrong."""
    return all(
        any(amounts.get(uuid, {}).get(name, 0) >= amount for uuid in requested.providers)
        for requested in groups
        for name, amount in requested.group.resources.items()
    )


def unguarded(wrong: Iterable[WrongBinding]) -> bool:
    """Whether one of these profiles would be written without a revision number.

    SAFETY: nothing would guard that write.
    """
    return any(binding.right is not None and binding.port.revision is None for binding in wrong)


def binding_changes(wrong: Iterable[WrongBinding]) -> tuple[Change, ...]:
    """The changes that correct these profiles, as far as the right ones are known."""
    return tuple(
        Change(
            PortBinding(binding.port.id),
            Profile(binding.port.profile),
            Profile(binding.port.profile_with(binding.right)),
            {binding.port.id: binding.port.revision},
        )
        for binding in wrong
        if binding.right is not None
    )
