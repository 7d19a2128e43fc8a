# SPDX-License-Identifier: Apache-2.0
"""Steps: one guarded, reversible change each, as a frozen value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from trueup.reconcile.facts import Allocations, Facts, Instance


@dataclass(frozen=True, slots=True)
class InstanceMark:
    """What must still be true of an instance when a step about it is written."""

    cell: str
    uuid: str
    host: str | None
    node: str | None
    vm_state: str | None
    task_state: str | None
    deleted: bool
    moving: bool
    # None: not compared, as in an undo, which may come long after.
    updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class Guard:
    """What must still hold when a step is written, besides the target being `before`.

    `consumer_generation` is None for a consumer that must not exist. `provider_generations` are
    those of the providers that are to hold more than before.
    """

    consumer_generation: int | None
    provider_generations: Mapping[str, int] = field(default_factory=dict)
    instance: InstanceMark | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """Change the allocations of `consumer` from `before` to `after`, if they still are `before`.

    None on either side: the consumer holds nothing then.
    """

    consumer: str
    before: Allocations | None
    after: Allocations | None
    guard: Guard
    because: tuple[str, ...]

    @property
    def id(self) -> str:
        """Unique in its plan: a plan has one step for each consumer."""
        return f"allocations:{self.consumer}"


def step_on(
    consumer: str, facts: Facts, after: Allocations | None, because: str, instance: Instance
) -> Step:
    """The step that takes a consumer from what it holds in these facts to `after`."""
    holding = facts.holdings[consumer]
    gaining = gains(holding.allocations, after)
    return Step(
        consumer=consumer,
        before=holding.allocations,
        after=after,
        guard=Guard(
            consumer_generation=holding.generation,
            provider_generations={uuid: facts.providers[uuid].generation for uuid in gaining},
            instance=mark(instance, moving=instance.uuid in facts.moving),
        ),
        because=(because,),
    )


def mark(instance: Instance, moving: bool) -> InstanceMark:
    """The mark of an instance as it was read."""
    return InstanceMark(
        cell=instance.cell,
        uuid=instance.uuid,
        host=instance.host,
        node=instance.node,
        vm_state=instance.vm_state,
        task_state=instance.task_state,
        deleted=instance.deleted,
        moving=moving,
        updated_at=instance.updated_at,
    )


def gains(before: Allocations | None, after: Allocations | None) -> tuple[str, ...]:
    """The providers that hold more of some class afterwards, in order."""
    old = before.amounts if before else {}
    new = after.amounts if after else {}
    return tuple(
        sorted(
            uuid
            for uuid, held in new.items()
            if any(amount > old.get(uuid, {}).get(name, 0) for name, amount in held.items())
        )
    )
