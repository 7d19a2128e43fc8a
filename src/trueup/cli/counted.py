# SPDX-License-Identifier: Apache-2.0
"""Counting capacity for commands that are about something else: over a cloud, or a snapshot."""

import argparse
from collections.abc import Iterable
from dataclasses import replace

from trueup.capacity.asked import (
    Asked,
    NotAskable,
    as_far_as_read,
    asked_of,
    flavors_in_use,
    has_few_traits,
    traits_wanted,
)
from trueup.capacity.summary import gap_of, summary
from trueup.cli.verb import CloudVerb
from trueup.reconcile.audit import Observation
from trueup.reconcile.facts import Facts
from trueup.reconcile.page.placeable import Placeables
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import AccessDenied, Unreachable


def placeables(command: CloudVerb, arguments: argparse.Namespace, seen: Observation) -> Placeables:
    """How many more servers of each flavor fit in what was observed."""
    if gap := gap_of(seen.facts):
        return Placeables(gap=gap)
    if getattr(arguments, "snapshot", None):
        kinds = [asked_of(flavor, {}) for flavor in flavors_in_use(seen.facts)]
        return summary(seen, [as_far_as_read(kind, seen.facts) for kind in kinds])
    try:
        with command.cloud(arguments) as cloud:
            kinds = [asked_of(flavor, {}) for flavor in cloud.nova.flavors()]
            facts = with_traits(cloud, seen.facts, kinds)
    except (Unreachable, AccessDenied) as error:
        return Placeables(gap=f"{error.source} does not answer any more: {error.reason}")
    return summary(replace(seen, facts=facts), kinds)


def with_traits(cloud: Cloud, facts: Facts, kinds: Iterable[Asked | NotAskable]) -> Facts:
    """The facts, with the traits that these requests name."""
    if not has_few_traits(facts):
        return facts
    wanted = traits_wanted(kinds)
    providers = cloud.placement.with_traits(facts.providers, wanted)
    return replace(facts, providers=providers, traits_read=wanted)
