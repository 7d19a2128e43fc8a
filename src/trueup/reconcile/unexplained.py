# SPDX-License-Identifier: Apache-2.0
"""What no defect has a name for: it is said, so that silence means that all is right. Pure."""

from collections.abc import Collection, Iterator

from trueup.reconcile.expected import agrees, expected_on, open_reasons
from trueup.reconcile.facts import Facts, Instance
from trueup.reconcile.findings import Subject, Unchecked, amounts_in_words
from trueup.reconcile.residence import NoHost, Placed, Undetermined, residence


def unexplained(facts: Facts, told: Collection[str]) -> Iterator[Unchecked]:
    """Instances of which nothing is told yet, and that are not shown to hold what they should.

    `told` are the uuids of which some verdict is there.
    """
    for uuid in sorted(facts.alive.keys() - told):
        instance = facts.alive[uuid]
        place = residence(instance, facts)
        if isinstance(place, Placed):
            reason = _difference(instance, place, facts)
        elif isinstance(place, NoHost):
            reason = _held_nowhere(instance, facts)
        else:
            reason = place.reason if isinstance(place, Undetermined) and place.of_instance else ""
        if reason:
            yield Unchecked(Subject("instance", uuid), instance.host or "", reason)


def _difference(instance: Instance, place: Placed, facts: Facts) -> str:
    wanted = expected_on(place.provider.root, instance, facts)
    held = facts.consumers.get(instance.uuid, {})
    if agrees(held, wanted):
        return ""
    names = facts.provider_names
    return (
        f"holds {amounts_in_words(held, names) or 'nothing'}, should hold "
        f"{amounts_in_words(wanted.known, names) or 'nothing'}"
        + (f" ({open_reasons(wanted, names)})" if wanted.open else "")
        + "; no remedy is known"
    )


def _held_nowhere(instance: Instance, facts: Facts) -> str:
    held = facts.consumers.get(instance.uuid)
    if not held:
        return ""
    words = amounts_in_words(held, facts.provider_names)
    return f"is on no host and holds {words}, should hold nothing; no remedy is known"
