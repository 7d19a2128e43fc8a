# SPDX-License-Identifier: Apache-2.0
"""Requests to Placement, drawn by hypothesis: mostly sensible, sometimes damaged.

A small world of names makes requests meet: four providers, three consumers, two aggregates.
"""

from typing import Any
from urllib.parse import urlencode

from hypothesis import strategies as st

from tests.differential.calls import Absent, ConsumerGeneration, Draft, ProviderGeneration
from tests.differential.damaging import damaged, one_in

NEWEST = 39
PROVIDERS = tuple(f"{n}0000000-aaaa-4aaa-8aaa-{n:012}" for n in range(1, 5))
CONSUMERS = tuple(f"{n}0000000-cccc-4ccc-8ccc-{n:012}" for n in range(1, 4))
AGGREGATES = tuple(f"{n}0000000-eeee-4eee-8eee-{n:012}" for n in range(1, 3))
CLASSES = ("VCPU", "MEMORY_MB", "CUSTOM_GOLD")
TRAITS = ("HW_CPU_X86_AVX2", "MISC_SHARES_VIA_AGGREGATE", "CUSTOM_FAST", "CUSTOM_SLOW")
CONSUMER_TYPES = ("INSTANCE", "MIGRATION", "unknown")
NO_BODY = Absent()
OWNERS = ("11111111111111111111111111111111", "22222222222222222222222222222222")

providers = st.sampled_from(PROVIDERS)
consumers = st.sampled_from(CONSUMERS)
classes = st.sampled_from(CLASSES)
traits = st.sampled_from(TRAITS)
owners = st.sampled_from(OWNERS)
minor_versions = st.one_of(st.just(NEWEST), st.integers(0, NEWEST))
# For what older versions mostly refuse.
recent_versions = st.one_of(st.just(NEWEST), st.just(NEWEST), st.just(NEWEST), minor_versions)
# Zero nearly always: a wrong generation is refused before anything interesting happens.
offsets = st.sampled_from((0, 0, 0, 0, 0, 0, 0, 0, 1, -1))
amounts = st.sampled_from((1, 1, 1, 2, 2, 3, 4, 8, 16))
# What the small ledger has, and a little that it has not.
HOLDINGS = tuple(
    (PROVIDERS[index], name)
    for index, names in enumerate((CLASSES[:2], CLASSES[2:], CLASSES[2:], CLASSES))
    for name in names
)


def draft(method: str, path: str, minor: int, body: Any = NO_BODY, **query: str | None) -> Draft:
    text = urlencode({key: value for key, value in query.items() if value is not None})
    return Draft(method, f"{path}?{text}" if text else path, f"1.{minor}", body)


@st.composite
def provider_writes(draw: st.DrawFn) -> Draft:
    minor, uuid = draw(minor_versions), draw(providers)
    name = f"host{PROVIDERS.index(draw(providers) if one_in(draw, 6) else uuid) + 1}"
    body: dict[str, Any] = {"name": name}
    if minor >= 14 and draw(st.booleans()):
        body["parent_provider_uuid"] = draw(st.one_of(providers, st.none()))
    if draw(st.booleans()):
        return draft("POST", "/resource_providers", minor, {"uuid": uuid, **body})
    return draft("PUT", f"/resource_providers/{uuid}", minor, body)


@st.composite
def provider_reads(draw: st.DrawFn) -> Draft:
    minor, uuid = draw(minor_versions), draw(providers)
    kind = draw(
        st.sampled_from(
            (
                "",
                "/inventories",
                "/usages",
                "/traits",
                "/aggregates",
                "/allocations",
                "/inventories/VCPU",
            )
        )
    )
    return draft(
        draw(st.sampled_from(("GET", "GET", "DELETE"))), f"/resource_providers/{uuid}{kind}", minor
    )


@st.composite
def provider_searches(draw: st.DrawFn) -> Draft:
    query = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(("host1", "host9", "")),
                "uuid": st.sampled_from((PROVIDERS[0], "x")),
                "in_tree": st.sampled_from((*PROVIDERS[:2], "x")),
                "member_of": memberships(),
                "resources": resource_texts(),
                "required": required_texts(),
            },
        )
    )
    return draft("GET", "/resource_providers", draw(recent_versions), **query)


@st.composite
def memberships(draw: st.DrawFn) -> str:
    if one_in(draw, 6):
        return draw(st.sampled_from(("", "x", "in:", f"in:!{AGGREGATES[0]}", ",".join(AGGREGATES))))
    sign = draw(st.sampled_from(("", "!", "in:", "!in:")))
    return sign + (",".join(AGGREGATES) if "in" in sign else draw(st.sampled_from(AGGREGATES)))


@st.composite
def resource_texts(draw: st.DrawFn) -> str:
    if one_in(draw, 8):
        return draw(st.sampled_from(("", "VCPU", "VCPU:0", "NONE:1", "VCPU:1,")))
    wanted = draw(st.dictionaries(classes, amounts, min_size=1, max_size=2))
    return ",".join(f"{name}:{amount}" for name, amount in wanted.items())


@st.composite
def required_texts(draw: st.DrawFn) -> str:
    if one_in(draw, 6):
        return draw(
            st.sampled_from(("", "CUSTOM_NONE", "HW_CPU_X86_AVX2,", "!", "in:!CUSTOM_FAST"))
        )
    names = draw(st.lists(traits, min_size=1, max_size=2))
    if one_in(draw, 3):
        return "in:" + ",".join(names)
    return ",".join(draw(st.sampled_from(("", "!"))) + name for name in names)


@st.composite
def inventory_amounts(draw: st.DrawFn) -> dict[str, Any]:
    optional = {
        "reserved": st.sampled_from((0, 1, 8, 9)),
        "min_unit": st.sampled_from((1, 2)),
        "max_unit": st.sampled_from((1, 8, 2147483647)),
        "step_size": st.sampled_from((1, 2, 3)),
        "allocation_ratio": st.sampled_from((0.5, 1.0, 1.1, 16.0)),
    }
    return draw(st.fixed_dictionaries({"total": st.sampled_from((8, 8, 4, 1))}, optional=optional))


@st.composite
def inventory_writes(draw: st.DrawFn) -> Draft:
    minor, uuid, name = draw(minor_versions), draw(providers), draw(classes)
    path = f"/resource_providers/{uuid}/inventories"
    stated = {"resource_provider_generation": ProviderGeneration(uuid, draw(offsets))}
    kind = draw(st.sampled_from(("all", "all", "one", "add", "delete")))
    if kind == "all":
        held = draw(st.dictionaries(classes, inventory_amounts(), max_size=3))
        return draft("PUT", path, minor, {**stated, "inventories": held})
    if kind == "one":
        return draft("PUT", f"{path}/{name}", minor, {**stated, **draw(inventory_amounts())})
    if kind == "add":
        body = {**stated, "resource_class": name, **draw(inventory_amounts())}
        return draft("POST", path, minor, body)
    return draft("DELETE", draw(st.sampled_from((path, f"{path}/{name}"))), minor)


@st.composite
def allocation_bodies(draw: st.DrawFn, minor: int, consumer: str) -> dict[str, Any]:
    """The body for one consumer, in the form of the microversion."""
    held: dict[str, dict[str, int]] = {}
    for provider, name in draw(st.lists(st.sampled_from(HOLDINGS), max_size=3)):
        held.setdefault(provider, {})[name] = draw(amounts)
    body: dict[str, Any] = {"allocations": {p: {"resources": r} for p, r in held.items()}}
    if minor < 12:
        body["allocations"] = [
            {"resource_provider": {"uuid": provider}, "resources": resources}
            for provider, resources in held.items()
        ]
    if minor >= 8:
        body |= {"project_id": draw(owners), "user_id": draw(owners)}
    if minor >= 28:
        body["consumer_generation"] = ConsumerGeneration(consumer, draw(offsets))
    if minor >= 34 and one_in(draw, 4):
        body["mappings"] = {"": list(held)} if held else {}
    if minor >= 38:
        body["consumer_type"] = draw(st.sampled_from(CONSUMER_TYPES))
    return body


@st.composite
def allocation_writes(draw: st.DrawFn) -> Draft:
    minor, consumer = draw(minor_versions), draw(consumers)
    kind = draw(st.sampled_from(("put", "put", "put", "post", "delete")))
    if kind == "put":
        body = draw(allocation_bodies(minor, consumer))
        return draft("PUT", f"/allocations/{consumer}", minor, body)
    if kind == "post":
        minor = draw(st.sampled_from((NEWEST, 13, 28, 34, 12)))
        chosen = draw(st.lists(consumers, min_size=1, max_size=2, unique=True))
        body = {one: draw(allocation_bodies(minor, one)) for one in chosen}
        return draft("POST", "/allocations", minor, body)
    return draft("DELETE", f"/allocations/{consumer}", minor)


@st.composite
def usage_reads(draw: st.DrawFn) -> Draft:
    minor = draw(minor_versions)
    if draw(st.booleans()):
        return draft("GET", f"/allocations/{draw(consumers)}", minor)
    kind = draw(st.sampled_from((None, None, "all", "unknown", "INSTANCE", "", "x y")))
    user = draw(st.one_of(st.none(), owners))
    project = draw(st.one_of(owners, st.none()))
    return draft("GET", "/usages", minor, project_id=project, user_id=user, consumer_type=kind)


@st.composite
def trait_calls(draw: st.DrawFn) -> Draft:
    minor, uuid = draw(minor_versions), draw(providers)
    path = f"/resource_providers/{uuid}/traits"
    kind = draw(st.sampled_from(("set", "set", "clear", "one", "list")))
    if kind == "set":
        body = {
            "traits": draw(st.lists(traits, max_size=3, unique=True)),
            "resource_provider_generation": ProviderGeneration(uuid, draw(offsets)),
        }
        return draft("PUT", path, minor, body)
    if kind == "clear":
        return draft("DELETE", path, minor)
    if kind == "one":
        name = draw(st.sampled_from((*TRAITS, "CUSTOM_NONE", "custom_small", "NOSUCH")))
        return draft(draw(st.sampled_from(("PUT", "GET", "DELETE"))), f"/traits/{name}", minor)
    names = (None, "startswith:CUSTOM", "in:CUSTOM_FAST,NONE", "in:", "else:X", "")
    flags = (None, "true", "false", "x")
    return draft(
        "GET",
        "/traits",
        minor,
        name=draw(st.sampled_from(names)),
        associated=draw(st.sampled_from(flags)),
    )


@st.composite
def aggregate_writes(draw: st.DrawFn) -> Draft:
    minor, uuid = draw(minor_versions), draw(providers)
    members = draw(st.lists(st.sampled_from(AGGREGATES), max_size=2, unique=True))
    body: Any = members
    if minor >= 19:
        generation = ProviderGeneration(uuid, draw(offsets))
        body = {"aggregates": members, "resource_provider_generation": generation}
    return draft("PUT", f"/resource_providers/{uuid}/aggregates", minor, body)


@st.composite
def class_calls(draw: st.DrawFn) -> Draft:
    minor = draw(minor_versions)
    name = draw(st.sampled_from(("CUSTOM_GOLD", "CUSTOM_TIN", "VCPU", "custom_small", "NONE")))
    kind = draw(st.sampled_from(("list", "add", "GET", "PUT", "DELETE")))
    if kind == "list":
        return draft("GET", "/resource_classes", minor)
    if kind == "add":
        return draft("POST", "/resource_classes", minor, {"name": name})
    body = {"name": "CUSTOM_TIN"} if kind == "PUT" and minor < 7 else NO_BODY
    return draft(kind, f"/resource_classes/{name}", minor, body)


@st.composite
def reshapes(draw: st.DrawFn) -> Draft:
    minor = draw(st.sampled_from((NEWEST, NEWEST, 30, 34, 29)))
    shaped = draw(st.lists(providers, min_size=1, max_size=2, unique=True))
    moved = draw(st.lists(consumers, max_size=2, unique=True))
    inventories = {
        provider: {
            "resource_provider_generation": ProviderGeneration(provider, draw(offsets)),
            "inventories": draw(st.dictionaries(classes, inventory_amounts(), max_size=2)),
        }
        for provider in shaped
    }
    allocations = {consumer: draw(allocation_bodies(minor, consumer)) for consumer in moved}
    body = {"inventories": inventories, "allocations": allocations}
    return draft("POST", "/reshaper", minor, body)


@st.composite
def candidate_reads(draw: st.DrawFn) -> Draft:
    """Without a limit: which candidates one leaves out is up to the service.

    PARITY: nor with both an unsuffixed group and others, where upstream is wrong in two ways. It
    adds up amounts in an object that several candidates share, unless group_policy is none; and
    it takes the same allocation in two trees for one, so that a pool is offered to one of them.
    """
    query: dict[str, str] = {}
    for suffix in draw(st.sampled_from((("",), ("",), ("1",), ("1", "2"), ("_A", "_B")))):
        query[f"resources{suffix}"] = draw(resource_texts())
        for name, texts in (
            ("required", required_texts()),
            ("member_of", memberships()),
            ("in_tree", st.sampled_from(PROVIDERS)),
        ):
            if one_in(draw, 4):
                query[name + suffix] = draw(texts)
    if len(query) > 1 and draw(st.booleans()):
        query["group_policy"] = draw(st.sampled_from(("none", "isolate", "x")))
    if one_in(draw, 6):
        query["root_required"] = draw(required_texts())
    if one_in(draw, 6):
        query["same_subtree"] = draw(st.sampled_from(("_A,_B", "_A", "1,2")))
    return draft("GET", "/allocation_candidates", draw(recent_versions), **query)


def calls() -> st.SearchStrategy[Draft]:
    """Any request, the ones that build up a ledger more often.

    But for providers that are to be given a UUID: each service gives another one.
    """
    return damaged(
        st.one_of(
            provider_writes(),
            inventory_writes(),
            inventory_writes(),
            allocation_writes(),
            allocation_writes(),
            aggregate_writes(),
            trait_calls(),
            provider_reads(),
            provider_searches(),
            usage_reads(),
            class_calls(),
            reshapes(),
            candidate_reads(),
        )
    ).filter(lambda one: not _leaves_the_uuid_open(one))


def _leaves_the_uuid_open(one: Draft) -> bool:
    if (one.method, one.path) != ("POST", "/resource_providers"):
        return False
    return isinstance(one.body, dict) and "uuid" not in one.body


def questions() -> st.SearchStrategy[Draft]:
    """Requests that search."""
    return st.one_of(candidate_reads(), candidate_reads(), provider_searches())


def several(chosen: st.SearchStrategy[Draft], length: int) -> st.SearchStrategy[list[Draft]]:
    """So many requests at most.

    Each place may stay empty, which is what it shrinks to: a list that may be shorter would
    nearly always be.
    """
    places = st.lists(_perhaps(chosen), min_size=length, max_size=length)
    return places.map(lambda drafts: [one for one in drafts if one is not None])


@st.composite
def _perhaps(draw: st.DrawFn, chosen: st.SearchStrategy[Draft]) -> Draft | None:
    return draw(chosen) if draw(st.integers(0, 9)) else None


LEDGER_NAMES = ("resource_classes/CUSTOM_GOLD", "traits/CUSTOM_FAST", "traits/CUSTOM_SLOW")


def small_ledger() -> list[Draft]:
    """A host with a child, a sharing pool and a second host, so that requests find something."""
    drafts = [draft("PUT", f"/{path}", NEWEST) for path in LEDGER_NAMES]
    for number, uuid in enumerate(PROVIDERS, start=1):
        parent = {"parent_provider_uuid": PROVIDERS[0]} if number == 2 else {}
        made = {"uuid": uuid, "name": f"host{number}", **parent}
        held = {name: {"total": 8} for provider, name in HOLDINGS if provider == uuid}
        shared = ["MISC_SHARES_VIA_AGGREGATE"] if number == 3 else ["CUSTOM_FAST"]
        bodies = {
            "inventories": {"inventories": held},
            "traits": {"traits": shared},
            "aggregates": {"aggregates": [] if number == 2 else list(AGGREGATES[:1])},
        }
        drafts.append(draft("POST", "/resource_providers", NEWEST, made))
        for part, body in bodies.items():
            stated = {"resource_provider_generation": ProviderGeneration(uuid), **body}
            drafts.append(draft("PUT", f"/resource_providers/{uuid}/{part}", NEWEST, stated))
    return drafts
