# SPDX-License-Identifier: Apache-2.0
"""Steps: guarded, reversible changes of targets, as frozen values that files can hold.

A change is (target, before, after, version), and its inverse is a swap.
"""

from collections.abc import Container, Mapping, Sequence

import msgspec

from trueup.reconcile.facts import Allocations, Facts, InstanceState
from trueup.reconcile.steps.guards import Guard
from trueup.reconcile.steps.targets import (
    AllocationsOf,
    Held,
    State,
    Target,
    Tree,
    Version,
    held_in,
    parts_of,
)


class Change(msgspec.Struct, frozen=True):
    """Take a target from `before` to `after`, if it still has this version.

    None: the target does not exist before, or after.
    """

    target: Target
    before: State | None
    after: State | None
    version: Version


class Step(msgspec.Struct, frozen=True):
    """Changes that are all written or all undone, while every guard holds.

    `because` has the ids of the findings that it remedies, and `needs` the ids of the steps that
    must be done before.
    """

    id: str
    changes: tuple[Change, ...]
    guards: tuple[Guard, ...]
    because: tuple[str, ...]
    needs: tuple[str, ...] = ()

    @property
    def consumers(self) -> tuple[str, ...]:
        """The consumers whose allocations it changes, in order."""
        return tuple(
            sorted({consumer for change in self.changes for consumer in consumers_in(change)})
        )

    def takes_all(self, consumer: str, providers: Container[str]) -> bool:
        """Whether a consumer holds nothing of these providers after it, as it says itself."""
        for change in self.changes:
            after = held_in(change.after)
            if consumer in after:
                held = after[consumer]
                return held is None or not any(uuid in providers for uuid in held.amounts)
        return False

    @property
    def subjects(self) -> frozenset[str]:
        """Everything it changes, by uuid or name: what the limit of a plan counts."""
        return frozenset(part for change in self.changes for part in parts_of(change.target))


def consumers_in(change: Change) -> tuple[str, ...]:
    """The consumers whose allocations a change replaces."""
    match change.target:
        case AllocationsOf(consumers) | Tree(_, consumers):
            return consumers
    return ()


def allocations_step(
    after: Mapping[str, Allocations | None],
    facts: Facts,
    because: tuple[str, ...],
    guards: tuple[Guard, ...],
) -> Step:
    """The step that changes holdings, all at once, from those in `facts.holdings` to `after`.

    The version is the consumers' generations. The generations of providers are no guard: on a busy
    host they change all the time, and Placement itself checks the capacity.
    """
    consumers = tuple(sorted(after))
    holdings = {consumer: facts.holdings[consumer] for consumer in consumers}
    change = Change(
        target=AllocationsOf(consumers),
        before=Held({consumer: row.allocations for consumer, row in holdings.items()}),
        after=Held({consumer: after[consumer] for consumer in consumers}),
        version={consumer: row.generation for consumer, row in holdings.items()},
    )
    return step_of((change,), guards, because)


def step_of(
    changes: tuple[Change, ...],
    guards: tuple[Guard, ...],
    because: tuple[str, ...],
    needs: tuple[str, ...] = (),
) -> Step:
    """A step whose id is made from its first change."""
    target = changes[0].target
    kind = target.__struct_config__.tag
    first, *others = parts_of(target)
    more = f"+{len(others)}" if others else ""
    return Step(f"{kind}:{first}{more}", changes, guards, because, needs)


def swapped(step: Step, versions: Sequence[Version]) -> Step:
    """The inverse step, for changes that left these versions.

    It keeps only the guards of instances, without the time of their last update: an undo may come
    long after, and instances may rightly have been updated since.
    """
    pairs = zip(step.changes, versions, strict=True)
    changes = tuple(
        Change(change.target, change.after, change.before, version) for change, version in pairs
    )
    kept = (guard for guard in step.guards if isinstance(guard, InstanceState))
    guards = tuple(msgspec.structs.replace(guard, updated_at=None) for guard in kept)
    return msgspec.structs.replace(step, changes=tuple(reversed(changes)), guards=guards, needs=())


def at_versions(step: Step, versions: Sequence[Version]) -> Step:
    """This step, for targets that have these versions."""
    pairs = zip(step.changes, versions, strict=True)
    changes = tuple(msgspec.structs.replace(change, version=version) for change, version in pairs)
    return msgspec.structs.replace(step, changes=changes)
