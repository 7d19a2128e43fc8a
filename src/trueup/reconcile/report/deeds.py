# SPDX-License-Identifier: Apache-2.0
"""Deeds: the effect of a step in a few words, for a line of a table."""

from collections import Counter
from collections.abc import Iterator, Mapping

from trueup.reconcile.steps import (
    AllocationsOf,
    Change,
    ProviderContents,
    ProviderFields,
    ProviderNode,
    ServiceRecord,
    Step,
    Tree,
    WholeProvider,
    step_growth,
)
from trueup.reconcile.verdicts import plain_words
from trueup.reconcile.wording import counted

# More deletions than this in one step are counted instead of named.
_NAMED_MAX = 3


def deed(step: Step, names: Mapping[str, str]) -> str:
    """What a step does; `names` are providers' names by uuid."""
    return "; ".join(
        dict.fromkeys((*_changes(step, names), *_deleted(step), *_growth(step, names)))
    )


def _changes(step: Step, names: Mapping[str, str]) -> Iterator[str]:
    for change in step.changes:
        match change.target, change.before, change.after:
            case ServiceRecord(_, host), _, None:
                yield f"delete the compute service of {host}"
            case WholeProvider(), None, ProviderContents(name):
                yield f"make the provider {name}"
            case ProviderNode(), ProviderFields(was, parent), ProviderFields(name, above):
                if was != name:
                    yield f"rename the provider {was} to {name}"
                if parent != above:
                    yield f"put {name} below {names.get(above or '', above)}"
            case Tree(), _, _:
                yield _of_tree(change, names)


def _of_tree(change: Change, names: Mapping[str, str]) -> str:
    assert isinstance(change.target, Tree)
    places = " and ".join(dict.fromkeys(names.get(uuid, uuid) for uuid in change.target.providers))
    who = counted(len(change.target.consumers), "consumer")
    return f"at once, the inventories of {places} and all that {who} hold"


def _deleted(step: Step) -> Iterator[str]:
    gone = [
        change.before.name
        for change in step.changes
        if isinstance(change.before, ProviderContents) and change.after is None
    ]
    if len(gone) > _NAMED_MAX:
        yield f"delete {len(gone)} providers"
    elif gone:
        yield f"delete the provider{'s' if len(gone) > 1 else ''} {', '.join(sorted(gone))}"


def _growth(step: Step, names: Mapping[str, str]) -> Iterator[str]:
    """How amounts of consumers change, for a step that changes allocations only."""
    if not all(isinstance(change.target, AllocationsOf) for change in step.changes):
        return
    for word, sign in (("release", -1), ("give", 1)):
        amounts: dict[str, Counter[str]] = {}
        for (uuid, name), amount in step_growth(step).items():
            if amount * sign > 0:
                amounts.setdefault(uuid, Counter())[name] += amount * sign
        for uuid, held in sorted(amounts.items()):
            yield f"{word} {plain_words(held)} of {names.get(uuid, uuid)}"
