# SPDX-License-Identifier: Apache-2.0
"""Unoffered classes: resource classes that flavors request and no provider has. Pure.

A cloud may remove a class once an instance is placed, as SAP's does with CUSTOM_BIGVM. The facts do
not show whether it did, or whether an inventory was lost.
"""

from collections.abc import Mapping

from trueup.reconcile.expected import Share, difference
from trueup.reconcile.facts import Facts
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.claims import DevicesMissing, claims


def unoffered_classes(facts: Facts) -> Mapping[str, tuple[str, ...]]:
    """By instance: the classes that it lacks and that no provider which was read has."""
    return facts.once(_unoffered)


def reason_of(name: str) -> Reason:
    """Why it is not known whether instances hold the right amounts of a class."""
    return because("class-unoffered", resource_class=name)


def _unoffered(facts: Facts) -> dict[str, tuple[str, ...]]:
    offered = {name for row in facts.providers.values() for name in row.inventories}
    found = {}
    for claim in claims(facts, DevicesMissing):
        lacking = difference(Share.DEVICES, claim.held, claim.wanted).lacking
        names = {name for part in lacking for name in part.amounts}
        if names and not names & offered:
            found[claim.instance.uuid] = tuple(sorted(names))
    return found
