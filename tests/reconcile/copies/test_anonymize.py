# SPDX-License-Identifier: Apache-2.0
"""Anonymized facts tell nobody's name, and have the same findings."""

import re
from collections import Counter
from dataclasses import fields, is_dataclass, replace
from typing import get_args, get_type_hints

import msgspec
import pytest
from hypothesis import given

from tests.properties.clouds import drafts
from tests.reconcile.planning import facts_of
from tests.reconcile.test_collect import facts_of as collected
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.audit import Audit, audit
from trueup.reconcile.copies.anonymize import KEPT, RULES, Pseudonyms, anonymized
from trueup.reconcile.facts import Facts, Port, Provider, is_uuid
from trueup.reconcile.verdicts import AuditOptions

KEY = b"a key"
UUID = "5eb033fd-1111-4222-8333-444455556666"


def test_of_every_field_with_text_it_is_said_whether_it_is_a_name():
    assert undecided_fields() == []


def undecided_fields() -> list[str]:
    """Fields of facts that may contain text and are in neither RULES nor KEPT."""
    said = {kind: {*RULES.get(kind, ()), *KEPT.get(kind, ())} for kind in (*RULES, *KEPT)}
    return [
        f"{kind.__name__}.{field.name}"
        for kind in sorted(kept_in(Facts, frozenset()), key=lambda kind: kind.__name__)
        for field in fields(kind)
        if may_hold_text(field.type) and field.name not in said.get(kind, set())
    ]


def kept_in(annotation: object, seen: frozenset[type]) -> frozenset[type]:
    """The kinds of values that a value of this type may hold, at any depth: those of a file."""
    if is_dataclass(annotation) and annotation not in seen:
        seen |= {annotation}
        for inner in get_type_hints(annotation).values():
            seen = kept_in(inner, seen)
    for inner in get_args(annotation):
        seen = kept_in(inner, seen)
    return seen


def may_hold_text(annotation: object) -> bool:
    """Whether a field may contain anything but numbers, flags and times."""
    words = set(re.findall(r"\w+", f"{getattr(annotation, '__name__', '')} {annotation}"))
    return not words <= {
        "int",
        "float",
        "bool",
        "datetime",
        "timedelta",
        "None",
        "class",
        "tuple",
        "Ellipsis",
    }


def verdicts(result: Audit) -> Counter[str]:
    """Each verdict as a bag of its words, since names decide the order of some."""
    rows = (*result.findings, *result.unchecked, *result.left_alone)
    words = (re.findall(r"[\w.-]+", msgspec.json.encode(row).decode()) for row in rows)
    return Counter(" ".join(sorted(one)) for one in words)


def renamed(result: Audit, facts: Facts) -> Audit:
    """An audit with every name in it replaced by its pseudonym, as by hand."""
    hosts = {row.host for row in facts.compute_nodes} | {row.node for row in facts.compute_nodes}
    names = Pseudonyms(KEY, hosts)
    # A root may be named that is not there itself.
    providers = {*facts.providers, *(row.root for row in facts.providers.values())}
    pseudonyms = {uuid: names.uuid(uuid) for uuid in (*facts.consumers, *facts.builds, *providers)}
    with_uuid = (*facts.instances, *facts.compute_nodes, *facts.migrations)
    pseudonyms |= {row.uuid: names.uuid(row.uuid) for row in with_uuid}
    pseudonyms |= {
        row.flavor.name: names.name(row.flavor.name) for row in facts.instances if row.flavor
    }
    pseudonyms |= {row.name: names.name(row.name) for row in facts.instances if row.name}
    pseudonyms |= {name: names.name(name) for name in facts.cells.values()}
    pseudonyms |= {host: names.place(host) for host in hosts}
    pseudonyms |= {row.name: names.place(row.name) for row in facts.providers.values()}
    ordered = sorted(pseudonyms, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, ordered))})(?![\w-])")
    text = msgspec.json.encode(replace(result, coverage=type(result.coverage)(()))).decode()

    def pseudonym(found: re.Match[str]) -> str:
        """A field may be called as a provider is."""
        is_field = text[found.end() :].startswith('":') and not is_uuid(found[1])
        return found[1] if is_field else pseudonyms[found[1]]

    return msgspec.json.decode(pattern.sub(pseudonym, text), type=Audit)


def check_same_findings(facts: Facts) -> None:
    plain = audit(facts, AuditOptions())
    hidden = audit(anonymized(facts, KEY), AuditOptions())
    assert verdicts(hidden) == verdicts(renamed(plain, facts))
    assert hidden.incomplete == plain.incomplete


@given(drafts())
def test_the_findings_are_the_same_up_to_names(draft):
    check_same_findings(draft.facts())


def test_of_a_whole_cloud_too_and_no_name_of_it_is_left(small):
    facts = collected(small)
    check_same_findings(facts)
    text = msgspec.json.encode(anonymized(facts, KEY)).decode()
    telling = {
        *facts.consumers, *facts.providers, *facts.alive, *facts.cells,
        *(row.host for row in facts.compute_nodes), *(row.project for row in facts.instances),
        *(row.user for row in facts.instances), *(row.name for row in facts.instances),
        *(row.uuid for row in facts.migrations), *(row.uuid for row in facts.host_aggregates),
    }  # fmt: skip
    # cell0's uuid is the same everywhere.
    left = [one for one in telling - {"00000000-0000-0000-0000-000000000000"} if one in text]
    assert left == []


def test_pseudonyms_are_the_same_every_time_and_depend_on_the_key():
    facts = facts_of("cell1\n  host h1\n  server web on h1\n")
    assert anonymized(facts, KEY) == anonymized(facts, KEY)
    assert anonymized(facts, KEY) != anonymized(facts, b"another")
    [instance] = anonymized(facts, KEY).instances
    assert instance.uuid != uuid_of("web")
    assert instance.vm_state == "active"


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        (UUID, r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
        (UUID.upper(), r"[0-9a-f]{32}"),
        (UUID.replace("-", ""), r"[0-9a-f]{32}"),
        ("00000000-0000-0000-0000-000000000000", r"[0-]{36}"),
        ("", ""),
    ],
)
def test_a_uuid_stays_one_in_its_form(text, pattern):
    assert re.fullmatch(pattern, Pseudonyms(KEY).uuid(text))


def test_a_nested_provider_is_still_called_by_its_host():
    names = Pseudonyms(KEY, ["h1", "h1.example"])
    host, longer = names.place("h1"), names.place("h1.example")
    assert host != longer
    assert names.place("h1:NIC Switch agent:ens1") == f"{host}:NIC Switch agent:ens1"
    assert names.place("h1.example_0000:81:00.0") == f"{longer}_0000:81:00.0"
    assert "h1x" not in names.place("h1x")


def test_ports_and_unnamed_providers_are_covered():
    facts = facts_of("cell1\n  host h1\n")
    port = Port(UUID, UUID, "compute:nova", host="h1", allocation={UUID: UUID})
    hidden = anonymized(replace(facts, ports=(port,)), KEY).ports[0]
    assert hidden.allocation == {hidden.id: hidden.id}
    assert hidden.host == anonymized(facts, KEY).compute_nodes[0].host
    pool = Provider(UUID, "pool", 1, UUID, {})
    pseudonyms = anonymized(replace(facts, providers={UUID: pool}), KEY).providers
    assert [row.name for row in pseudonyms.values()] == [Pseudonyms(KEY).name("pool")]
