# SPDX-License-Identifier: Apache-2.0
"""All traits of a provider, replaced at its generation."""

from trueup.reconcile.changes.provider_parts import read_part, replace_part
from trueup.reconcile.changes.target import Found, Reply, generation_after
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import Change, Traits, TraitsOf

version_after = generation_after


def read(target: TraitsOf, cloud: Cloud) -> Found:
    """Every one of them, in order."""
    return read_part("traits", target.provider, cloud, lambda names: Traits(tuple(sorted(names))))


def write(change: Change, cloud: Cloud) -> Reply:
    """Replace all traits."""
    assert isinstance(change.after, Traits)
    return replace_part("traits", change, cloud, list(change.after.names), read)
