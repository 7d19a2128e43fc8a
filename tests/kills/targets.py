# SPDX-License-Identifier: Apache-2.0
"""Steps for every kind of target, made from what the site holds now.

Each may be made again after it was applied and undone: what it needs is made once.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from msgspec import structs

from tests.kills.hypervisor import DOMAIN
from tests.kills.services import HOST, PORT
from tests.kills.site import HYPERVISOR, Site
from trueup.reconcile import changes
from trueup.reconcile.facts import Allocations
from trueup.reconcile.plan import merged
from trueup.reconcile.steps import (
    Aggregates,
    AggregatesOf,
    AllocationsOf,
    Change,
    DomainDefinition,
    DomainText,
    Held,
    Inventories,
    InventoriesOf,
    PortBinding,
    Profile,
    ProviderFields,
    ProviderNode,
    ServiceFields,
    ServiceRecord,
    State,
    Step,
    Target,
    Traits,
    TraitsOf,
    Tree,
    TreeContents,
    step_of,
)

Maker = Callable[[Site], tuple[Step, ...]]
AGGREGATE = "41111111-2222-4333-8444-555555555555"


def new(number: int) -> str:
    """The uuid of a provider that the cloud does not have by itself."""
    return f"5111111{number}-2222-4333-8444-555555555555"


def changed(site: Site, target: Target, alter: Callable[[Any], State | None]) -> Change:
    """A change of a target from what it is now."""
    found = changes.read(target, site.cloud)
    return Change(target, found.state, alter(found.state), found.version)


def one_step(*parts: Change) -> tuple[Step, ...]:
    return (step_of(parts, (), ("a-finding",)),)


def root(site: Site) -> str:
    """A compute host's root provider, with inventories and allocations."""
    listed = site.cloud.placement.document("/resource_providers")["resource_providers"]
    return min(row["uuid"] for row in listed if row["name"].startswith("compute-"))


def there(site: Site, uuid: str, name: str, parent: str | None) -> None:
    """Make a provider, unless it was made before."""
    made = changed(site, ProviderNode(uuid), lambda _: ProviderFields(name, parent))
    if made.before is None:
        assert changes.write(made, site.cloud).accepted


def planned(*defects: str) -> Maker:
    return lambda site: site.plan(*defects).steps


def emptied(site: Site) -> tuple[Step, ...]:
    """What gives a consumer something whose allocations, written twice, were deleted with SQL.

    Its row is left, with a generation that Placement tells only when it refuses a write.
    """
    steps = site.plan("missing-allocation").steps
    for step in steps:
        [change], [consumer] = step.changes, step.consumers
        given = changes.write(change, site.cloud)
        again = structs.replace(change, before=change.after, version=given.version)
        assert changes.write(again, site.cloud).accepted
        site.sql("DELETE FROM allocations WHERE consumer_id = ?", consumer)
    return steps


def two_consumers(site: Site) -> tuple[Step, ...]:
    """Two hosts whose instances change places in one request."""
    return (merged(site.plan("wrong-provider", "missing-allocation").steps),)


def created(site: Site) -> tuple[Step, ...]:
    """Three consumers that hold nothing are given something; it is written in one request."""
    provider = root(site)
    given = Allocations({provider: {"VCPU": 1}}, "a-project", "a-user")
    consumers = [f"6111111{number}-2222-4333-8444-555555555555" for number in range(3)]
    return tuple(
        step
        for one in consumers
        for step in one_step(
            changed(site, AllocationsOf((one,)), lambda _, one=one: Held({one: given}))
        )
    )


def made(site: Site) -> tuple[Step, ...]:
    fields = ProviderFields("a new provider")
    return one_step(changed(site, ProviderNode(new(1)), lambda _: fields))


def renamed(site: Site) -> tuple[Step, ...]:
    target = ProviderNode(root(site))
    return one_step(changed(site, target, lambda row: structs.replace(row, name="another")))


def re_parented(site: Site) -> tuple[Step, ...]:
    there(site, new(2), "to be re-parented", None)
    above = root(site)
    target = ProviderNode(new(2))
    return one_step(changed(site, target, lambda row: structs.replace(row, parent=above)))


def removed(site: Site) -> tuple[Step, ...]:
    there(site, new(3), "to be removed", root(site))
    return one_step(changed(site, ProviderNode(new(3)), lambda _: None))


def inventories(site: Site) -> tuple[Step, ...]:
    def alter(state: Inventories) -> Inventories:
        more = structs.replace(state.by_class["VCPU"], total=999, allocation_ratio=2.0)
        return Inventories({**state.by_class, "VCPU": more, "PCPU": more})

    return one_step(changed(site, InventoriesOf(root(site)), alter))


def traits(site: Site) -> tuple[Step, ...]:
    def alter(state: Traits) -> Traits:
        return Traits(tuple(sorted({*state.names, "STORAGE_DISK_SSD"})))

    return one_step(changed(site, TraitsOf(root(site)), alter))


def aggregates(site: Site) -> tuple[Step, ...]:
    def alter(state: Aggregates) -> Aggregates:
        return Aggregates(tuple(sorted({*state.uuids, AGGREGATE})))

    return one_step(changed(site, AggregatesOf(root(site)), alter))


def reshaped(site: Site) -> tuple[Step, ...]:
    """The inventory of one class, and all that is held of it, go to a child provider."""
    above, below = root(site), new(4)
    there(site, below, "to take the disk", above)
    path = f"/resource_providers/{above}/allocations"
    holders = site.cloud.placement.document(path)["allocations"]

    def moved(held: Allocations) -> Allocations:
        amounts = {uuid: dict(row) for uuid, row in held.amounts.items()}
        disk = amounts[above].pop("DISK_GB", 0)
        return replace(held, amounts=amounts | ({below: {"DISK_GB": disk}} if disk else {}))

    def alter(state: TreeContents) -> TreeContents:
        rest = {name: row for name, row in state.inventories[above].items() if name != "DISK_GB"}
        disk = {"DISK_GB": state.inventories[above]["DISK_GB"]}
        after = {one: moved(held) for one, held in state.by_consumer.items() if held}
        return TreeContents({above: rest, below: disk}, after)

    return one_step(changed(site, Tree((above, below), tuple(sorted(holders))), alter))


def port_binding(site: Site) -> tuple[Step, ...]:
    profile = Profile({"allocation": {"a-group": root(site)}})
    return one_step(changed(site, PortBinding(PORT), lambda _: profile))


def compute_service(site: Site) -> tuple[Step, ...]:
    [cell] = [one for one in site.cloud.nova.cells() if one.name == "cell1"]
    after = ServiceFields(disabled=True, disabled_reason="it is gone", forced_down=True)
    return one_step(changed(site, ServiceRecord(cell.uuid, HOST), lambda _: after))


def domain(site: Site) -> tuple[Step, ...]:
    def alter(state: DomainText) -> DomainText:
        return DomainText(state.xml.replace("</uuid>", "</uuid>\n  <title>changed</title>"))

    return one_step(changed(site, DomainDefinition(HYPERVISOR, DOMAIN), alter))


def undefined(site: Site) -> tuple[Step, ...]:
    return one_step(changed(site, DomainDefinition(HYPERVISOR, DOMAIN, ("guest",)), lambda _: None))


def several(site: Site) -> tuple[Step, ...]:
    """One step with changes in three services: all are written, or all are taken back."""
    parts = [step.changes for step in (*traits(site), *port_binding(site), *compute_service(site))]
    return one_step(*(change for group in parts for change in group))


MAKERS: dict[str, Maker] = {
    "released": planned("orphaned-allocation"),
    "replaced": planned("wrong-provider"),
    "given": planned("missing-allocation"),
    "migration": planned("migration-residue"),
    "every defect": planned(
        "orphaned-allocation", "wrong-provider", "missing-allocation", "migration-residue",
        "evacuation-residue",
    ),
    **{
        one.__name__: one
        for one in (
            emptied, two_consumers, created, made, renamed, re_parented, removed, inventories,
            traits, aggregates, reshaped, port_binding, compute_service, domain, undefined, several,
        )
    },
}  # fmt: skip
