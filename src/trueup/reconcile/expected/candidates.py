# SPDX-License-Identifier: Apache-2.0
"""The query for allocation candidates that Nova's scheduler makes from a flavor and an image."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from trueup.reconcile.expected.groups import UNSUFFIXED, flavor_groups
from trueup.reconcile.expected.parts import Unknown
from trueup.reconcile.expected.required_traits import TraitsOfGroup, required_traits
from trueup.reconcile.facts import Flavor, Port

_POLICIES = ("none", "isolate")
# The scheduler adds this to every query (nova.scheduler.request_filter, compute_status_filter).
_OF_EVERY_QUERY = "!COMPUTE_STATUS_DISABLED"


@dataclass(frozen=True, slots=True)
class Demands:
    """Demands of the scheduler's settings and of the request, beyond those of flavor and image.

    A host must have all of the traits at its root, and be in one aggregate of each `member_of`, in
    none of `not_member_of`, and in this tree. Each `ports` has request groups of its own.
    """

    root_required: frozenset[str] = frozenset()
    member_of: tuple[tuple[str, ...], ...] = ()
    not_member_of: tuple[str, ...] = ()
    in_tree: str | None = None
    ports: tuple[Port, ...] = ()


NO_DEMANDS = Demands()


def candidate_query(
    flavor: Flavor,
    image: Mapping[str, str],
    *,
    volume_backed: bool,
    demands: Demands = NO_DEMANDS,
    pinning: bool = True,
) -> str | Unknown:
    """The query; with `pinning`, for hosts that have PCPU if the CPU policy asks for it.

    Requests of PCI devices and device profiles are left out, and so is the scheduler's
    limit. Unknown, if Nova refuses the flavor with this image.
    """
    groups = flavor_groups(flavor, image, volume_backed=volume_backed, pinning=pinning)
    if isinstance(groups, Unknown):
        return groups
    traits = required_traits(flavor, image)
    if isinstance(traits, Unknown):
        return traits
    amounts = {group.suffix: group.amounts for group in groups}
    suffixes = sorted(amounts.keys() | {suffix for suffix, row in traits.items() if _any(row)})
    parameters = [*_of_demands(demands)]
    for suffix in suffixes or [UNSUFFIXED]:
        parameters += _of_group(suffix, amounts.get(suffix, {}), traits.get(suffix))
    parameters += _of_ports(demands.ports)
    suffixed = sum(suffix != UNSUFFIXED for suffix in suffixes)
    of_ports = sum(len(port.request_groups) for port in demands.ports)
    policy = flavor.extra_specs.get("group_policy")
    if policy not in _POLICIES and suffixed <= 1 < suffixed + of_ports:
        # PARITY: ports need no group policy of the flavor.
        policy = "none"
    if policy in _POLICIES:
        parameters.append(("group_policy", policy))
    return urlencode(sorted(parameters), safe=":,!")


def _of_demands(demands: Demands) -> Iterator[tuple[str, str]]:
    yield "root_required", ",".join([*sorted(demands.root_required), _OF_EVERY_QUERY])
    for aggregates in demands.member_of:
        yield "member_of", f"in:{','.join(aggregates)}"
    if demands.not_member_of:
        yield "member_of", f"!in:{','.join(demands.not_member_of)}"
    if demands.in_tree:
        yield "in_tree", demands.in_tree


def _of_ports(ports: Iterable[Port]) -> Iterator[tuple[str, str]]:
    for port in ports:
        for group in port.request_groups:
            yield from _of_group(group.id, group.resources, TraitsOfGroup({*group.required}))
        if port.same_subtree:
            yield "same_subtree", ",".join(sorted(port.same_subtree))


def _of_group(
    suffix: str, amounts: Mapping[str, int], traits: TraitsOfGroup | None
) -> list[tuple[str, str]]:
    # PARITY: a group of traits alone has an empty `resources`, which Placement refuses.
    resources = ",".join(f"{name}:{amount}" for name, amount in sorted(amounts.items()))
    found = [(f"resources{suffix}", resources)]
    if traits is not None and _any(traits):
        words = [*sorted(traits.required), *(f"!{name}" for name in sorted(traits.forbidden))]
        found.append((f"required{suffix}", ",".join(words)))
    return found


def _any(traits: TraitsOfGroup) -> bool:
    return bool(traits.required or traits.forbidden)
