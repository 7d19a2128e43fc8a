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
from trueup.reconcile.reasons import Reason, because, together
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


def not_writable(wrong: Iterable[WrongBinding], facts: Facts) -> Reason | None:
    """Why these profiles are not written; or None.

    SAFETY: nothing would guard the write of a port without a revision number, and an operator's
    choice that does not suit contradicts what would be written.
    """
    written = [binding for binding in wrong if binding.right is not None]
    if any(binding.port.revision is None for binding in written):
        return because("port-without-revision")
    return together(reason for binding in written for reason in choices_against(binding, facts))


def choices_against(wrong: WrongBinding, facts: Facts) -> Iterator[Reason]:
    """As `wrong_choices`, of a port with a wrong profile."""
    providers = [uuid for requested in wrong.groups for uuid in requested.providers]
    return wrong_choices(wrong.port, providers, facts)


def wrong_choices(port: Port, providers: Iterable[str], facts: Facts) -> Iterator[Reason]:
    """The operator's choices for a port that are none of the providers that may be right."""
    suitable = {word for uuid in providers for word in (uuid, facts.provider_names.get(uuid))}
    for chosen in facts.chosen_providers.get(port.id, ()):
        if chosen not in suitable:
            yield because("chosen-provider-wrong", provider=chosen, port=port.id)


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
