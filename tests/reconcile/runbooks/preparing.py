# SPDX-License-Identifier: Apache-2.0
"""From the text of a scenario to a prepared runbook; see tests/scenarios/reading.py."""

from collections.abc import Callable
from dataclasses import asdict, replace

from tests.reconcile.observing import confirmed_by
from tests.scenarios.drafting import Draft
from tests.scenarios.reading import read_cloud
from trueup.reconcile.facts import Facts, NetworkAgent
from trueup.reconcile.plan import make_plan
from trueup.reconcile.runbooks import merge, rekey, retire
from trueup.reconcile.runbooks.host_reading import HostReading
from trueup.reconcile.runbooks.preflight import Prepared
from trueup.reconcile.steps import ProviderContents


def reading_of(
    host: str, facts: Facts, agents: tuple[NetworkAgent, ...] | None = None
) -> HostReading:
    """What reading the host once more gives: the same as the facts."""
    return HostReading(
        moves=tuple(row for row in facts.migrations if host in (row.source_host, row.target_host)),
        agents=agents,
        contents={
            row.uuid: ProviderContents(
                row.name,
                row.parent,
                {name: asdict(one) for name, one in row.inventories.items()},
                tuple(sorted(row.traits or ())),
                tuple(sorted(row.aggregates or ())),
            )
            for row in facts.providers.values()
        },
    )


def retirement_of(
    host: str,
    text: str,
    alter: Callable[[Draft], None] = lambda _: None,
    agents: tuple[NetworkAgent, ...] | None = None,
    agents_gone: bool = False,
) -> Prepared:
    """The retirement of a host of this cloud, after `alter` has changed it."""
    draft = read_cloud(text)
    alter(draft)
    facts = draft.facts()
    confirmed = confirmed_by(facts)
    plan = make_plan(confirmed, facts.holdings)
    reading = replace(reading_of(host, facts, agents), agents_gone=agents_gone)
    return retire.prepared(host, plan, confirmed.second, reading)


def table_of(prepared: Prepared) -> list[str]:
    """Each check as `part subject verdict`, with names in place of most uuids."""
    return [f"{one.part} {one.subject} {one.outlook.value}" for one in prepared.checks]


def rekeying_of(
    host: str,
    text: str,
    compute_id: str | None,
    alter: Callable[[Draft], None] = lambda _: None,
) -> Prepared:
    """The rekeying of a host of this cloud, after `alter` has changed it."""
    draft = read_cloud(text)
    alter(draft)
    facts = draft.facts()
    plan = make_plan(confirmed_by(facts), facts.holdings)
    reading = replace(reading_of(host, facts), holdings=facts.holdings)
    return rekey.prepared(host, plan, facts, reading, compute_id)


def merging_of(old: str, new: str, text: str) -> Prepared:
    """The merging of two providers of this cloud."""
    facts = read_cloud(text).facts()
    plan = make_plan(confirmed_by(facts), facts.holdings)
    reading = replace(reading_of("h1", facts), holdings=facts.holdings)
    pair = merge.pair_of(old, new, facts)
    return merge.prepared(f"merge:{old}:{new}", plan, facts, reading, pair)
