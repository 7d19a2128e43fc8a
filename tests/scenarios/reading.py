# SPDX-License-Identifier: Apache-2.0
"""Scenario files: a small cloud in a few lines, `----`, and the results of its audit and plan.

cell1
  host h1 VCPU=8 MEMORY_MB=8192 DISK_GB=100     a compute host and its provider
  host h2 VCPU=8 MEMORY_MB=8192 DISK_GB=100 up  its nova-compute reports
  host h3 without-provider | uuid=OTHER         no provider; or a compute node with another uuid
  host h4 seen=5 VCPU=8                         forced down, and reported so many seconds ago
  host h5 stopped VCPU=8                        not forced down, and has not reported for an hour
  server web on h1 VCPU=2 MEMORY_MB=256         an instance and its flavor's plain amounts
  server vol on h1 volume swap=512 VCPU=2 …     its root disk is a volume; a swap disk, in MiB
  server api on h1 volume=unknown VCPU=2 …      whether it is one is not shown
  server rt on h1 numa-pinned VCPU=2 …          its NUMA topology pins two processors
  server rt on h1 pinned on-cpus=2,3 VCPU=2 …   the processors of the host that it is pinned to
  server rt on h1 numa-unreadable VCPU=2 …      its NUMA topology cannot be read
  server web on h1 old-VCPU=1 VCPU=2 …          its flavor before a resize, which had fewer
  server sap on h1 pinned VCPU=2 MEMORY_MB=256  its image asks for dedicated processors
  server old on h1 deleted=3600 VCPU=...        deleted so many seconds ago; or `deleted=unknown`
  server old on h1 deleted=3600 by-hand         its `deleted` is not its id; or `archived`
  server web on h1 changed=7200 task=deleting   Nova changed it last so many seconds ago; a move too
  evacuation of web from h1 done                and other kinds of migrations
  resize of web from h1 to h2 finished
  resize of web from h1 to h2 row-in=cell2 finished   its row is in another cell than its instance
  resize of web from h1 to h2 between-cells error   a move between cells: its instance has two rows
  evacuation of web from h1 node=none done      Nova does not say from which node; or `from none`
  forget-service h1                             its nova-compute has no row in services
cell2 silent                                    did not answer
cell3 last-report=1200                          its newest service report is so old; or `never`
map web nowhere age=3600                        Nova mapped it to no cell, so many seconds ago
map web cell1 [queued] | map web none           its mapping, if it is not that of its row's cell;
                                                it is queued for deletion
guest web on h1 running                         what a hypervisor says; else none is asked
guest zun on h1 running foreign                 a domain that Nova did not make
guest old on h1 shut off managed-save snapshots=1   the memory of its guest is saved; its snapshots
hypervisor h1 | hypervisor h1 silent            it is asked, and answers or does not
provider pool DISK_GB=100 sharing
provider nic of h1 NET_BW=100                   a nested provider
build web [age=3600]                            a build request
host h1.example.org node=h1 address=10.0.0.1  its hypervisor name and its address
host h1 cpus=2,3                                the processors of its only NUMA cell
host h1 made=20                                 its compute node was made so many seconds ago
host h1 traits=OWNER_NOVA,COMPUTE_NODE          traits of its provider; `traits=` none
provider nic of h1 root=h2 NET_BW=100           its root is not the top of its tree
provider gpu of h1 traits=HW_PCI_ONE_TIME_USE   so of any other provider
forget h1 [service]                             its compute node is deleted; its service remains
rename h1 h1.example.org                        the host has another compute node, by another name
rename h1 h1 h1-new                             the same, by this name, with a provider of that name
unmapped h1 | host-map h1 cell2                 the host is mapped to no cell, or to this one
aggregate rack h1 h2 [cpu_allocation_ratio=4]   a host aggregate with its hosts, and its metadata
host h1 VCPU=8 ratio=4                          the allocation ratio of each of its inventories
host h1 aggregates=rack,[x]                     its provider's; none; the uuid of `[x]` is this text
host h1 disabled version=74                     its compute service
host node1 hypervisor=ironic reserved=1         a bare metal node; so much is reserved of each class
host node1 compute=c1 hypervisor=ironic         it is one of the nodes of the nova-compute on c1
device h1 0000:81:00.0                          a PCI device
ledger-fault tree h1 its root is not known      what is wrong in Placement's own rows
ledger-fault consumerless h1 VCPU=2 holder=web … whose rows they are, which only a database shows
wrote h1 after=1200                             Placement wrote an allocation of it so many seconds
                                                after what our clock says
disabled cell1
holds web h1 VCPU=2 MEMORY_MB=256               what Placement says; also of `resize-of-web`, of its
                                                second `resize-of-web-2`, of `web-without-dashes`
owned web project=other user=other              whose Placement says it is; else a-project, a-user
server web on h1 project= VCPU=2                Nova has another project for it, or none
Words about ports and devices are in `attachments`. A server may have extra specs, as
`resources:VGPU=1`; a provider `traits=A,B`; a guest `devices=ADDRESS,ADDRESS`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests.reconcile.observing import confirmed_by, held_by
from tests.scenarios.drafting import NOW, Draft, flavor
from tests.scenarios.names import uuid_of
from tests.scenarios.words import amounts_in, details_in
from trueup.reconcile.facts import (
    Allocations,
    DomainRecord,
    Facts,
    HostAggregate,
    HostCell,
    HostTopology,
    LedgerFault,
    NumaCell,
    NumaTopology,
)
from trueup.reconcile.plan import domains_wanted, make_plan
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.report.states import before_and_after
from trueup.reconcile.report.words import evidence_in_words
from trueup.reconcile.steps import PortBinding, Step, consumers_in
from trueup.reconcile.verdicts import Finding, plain_words

_SERVER_WORDS = {
    "task": "task_state", "state": "vm_state", "project": "project", "user": "user",
}  # fmt: skip
# What nova-compute found when it looked for the guest on the server's host.
_POWER_STATES = {"absent": 0, "running": 1}


def read_cloud(text: str) -> Draft:
    """The draft that the upper half of a scenario describes."""
    draft, cell = Draft(), ""
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        if not line.startswith(" ") and words[0].startswith("cell"):
            cell = words[0]
            reported = dict(details_in(words)).get("last-report", "0")
            silent = "it is down" if "silent" in words else ""
            draft.cell(cell, silent, None if reported == "never" else int(reported))
        else:
            _PARTS[words[0]](draft, cell, words[1:])
    return draft


def answer(draft: Draft) -> str:
    """The lower half: verdicts, then steps, with names in place of uuids."""
    facts = draft.facts()
    confirmed = confirmed_by(facts)
    result, kept = confirmed.second.audit, draft.kept_of_domains
    records = [
        DomainRecord(uuid, host, f"<domain><name>{uuid}</name></domain>", **kept[host, uuid])
        for host, uuid in domains_wanted(confirmed)
    ]
    plan = make_plan(confirmed, facts.holdings, records)
    ids = [row.id for row in result.findings]
    assert len(ids) == len(set(ids)), "two findings with one id are taken for one"
    lines = [
        *(
            f"finding {row.defect} {row.subject.uuid}: "
            + "; ".join(evidence_in_words(row.evidence).values())
            for row in result.findings
        ),
        *(f"could not check {row.subject}: {in_words(row.reason)}" for row in result.unchecked),
        *(f"may be behind {row.source}: {in_words(row.lag)}" for row in result.coverage.behind),
        *(f"left alone {row.subject}: {in_words(row.reason)}" for row in result.left_alone),
        *(f"step {_step(step, facts)}" for step in plan.steps),
        *(
            f"no step for {row.finding.defect} {row.finding.subject.uuid}: {in_words(row.reason)}"
            for row in plan.declined
        ),
    ]
    return _named("\n".join(lines) or "nothing", draft)


def _step(step: Step, facts: Facts) -> str:
    kinds = (consumers_in(one) or isinstance(one.target, PortBinding) for one in step.changes)
    if all(kinds):
        after_others = f", after {', '.join(step.needs)}" if step.needs else ""
        return "; ".join((*_claims(step, facts), *_bindings(step))) + after_others
    before, after = before_and_after(step, facts.provider_names)
    after_others = f", after {', '.join(step.needs)}" if step.needs else ""
    return f"{step.id}: {_state(before)} -> {_state(after)}{after_others}"


def _state(words: Mapping[str, str]) -> str:
    return ", ".join(f"{label} {text or 'none'}" for label, text in words.items()) or "nothing"


def _evidence(finding: Finding) -> str:
    return "; ".join(evidence_in_words(finding.evidence).values())


def _named(text: str, draft: Draft) -> str:
    names = {row.uuid: f"node-of-{row.node}" for row in draft.nodes}
    names |= draft.names | {row.uuid: row.name for row in draft.instances}
    names |= {uuid_of(name): name for name in draft.cells.values()}
    names |= {row.uuid: row.name for row in draft.providers.values()} | draft.attached.names
    for uuid, name in names.items():
        text = text.replace(uuid, name)
    return text


def _held(allocations: Allocations | None, facts: Facts, whose: bool) -> str:
    if allocations is None:
        return "nothing"
    amounts = ", ".join(
        f"{facts.providers[uuid].name} {plain_words(held)}"
        for uuid, held in sorted(allocations.amounts.items(), key=lambda item: item[0])
    )
    return f"{amounts} for {allocations.project}, {allocations.user}" if whose else amounts


def _claims(step: Step, facts: Facts) -> Iterator[str]:
    for consumer, sides in held_by(step).items():
        owners = {(side.project, side.user) for side in sides if side}
        whose = len(owners) > 1
        yield f"{consumer}: " + " -> ".join(_held(side, facts, whose) for side in sides)


def _bindings(step: Step) -> Iterator[str]:
    """`port p1: allocation {...} -> {...}`, for each binding profile that a step changes."""
    for change in step.changes:
        if isinstance(change.target, PortBinding):
            sides = (change.before.content, change.after.content)
            words = (str(side.get("allocation", "nothing")) for side in sides)
            yield f"port {change.target.port}: " + " -> ".join(words).replace("'", "")


def _host(draft: Draft, cell: str, words: list[str]) -> None:
    details = dict(details_in(words[1:]))
    if "without-provider" not in details:
        draft.provider(words[0], amounts_in(words), **_marks(draft, details))
        reserved, ratio = int(details.get("reserved", "0")), float(details.get("ratio", "1"))
        draft.set_inventories(words[0], reserved=reserved, allocation_ratio=ratio)
    other = details.get("uuid")
    seen = int(details["seen"]) if "seen" in details else None
    draft.host(words[0], cell, "up" in details, uuid_of(other) if other else "", seen)
    draft.nodes[-1] = replace(draft.nodes[-1], address=details.get("address", ""))
    if "cpus" in details:
        cell = HostCell(0, frozenset(), frozenset(map(int, details["cpus"].split(","))), 8192)
        draft.nodes[-1] = replace(draft.nodes[-1], numa=HostTopology((cell,)))
    if "node" in details:
        draft.nodes[-1] = replace(draft.nodes[-1], node=details["node"])
    node = draft.nodes[-1]
    made = NOW - timedelta(seconds=int(details["made"])) if "made" in details else None
    service = draft.services[-1]
    version = int(details.get("version", "0"))
    if "stopped" in details:
        service = replace(service, forced_down=False)
    draft.services[-1] = replace(service, disabled="disabled" in details, version=version)
    draft.nodes[-1] = replace(node, created_at=made, hypervisor=details.get("hypervisor", ""))
    if "compute" in details:
        draft.belongs(words[0], details["compute"])


def _marks(draft: Draft, details: Mapping[str, str]) -> dict[str, object]:
    """The traits and aggregates that are named; those that are not named were not read."""
    kinds = {"traits": str, "aggregates": draft.aggregate}
    named = {kind: filter(None, details[kind].split(",")) for kind in kinds if kind in details}
    return {kind: frozenset(map(kinds[kind], words)) for kind, words in named.items()}


def _numa_topology(details: Mapping[str, str], fields: Mapping[str, Any]) -> NumaTopology | None:
    if "numa-unreadable" in details:
        return NumaTopology(None)
    if "numa-pinned" in details:
        return NumaTopology((NumaCell(0, (), (0, 1), fields["flavor"].memory_mb),))
    if "on-cpus" in details:
        held = tuple(map(int, details["on-cpus"].split(",")))
        memory = fields["flavor"].memory_mb
        return NumaTopology((NumaCell(0, (), (), memory, host_processors=held),))
    return None


def _server(draft: Draft, cell: str, words: list[str]) -> None:
    amounts, details = amounts_in(words), dict(details_in(words[1:]))
    host = words[2] if "on" in details else None
    fields: dict[str, Any] = {
        _SERVER_WORDS[name]: value for name, value in details.items() if name in _SERVER_WORDS
    }
    fields |= _changed(details)
    if "guest" in details:
        fields["power_state"] = _POWER_STATES[details["guest"]]
    if amounts:
        extra = {name: value for name, value in details.items() if ":" in name}
        fields["flavor"] = flavor(amounts, extra)
    if "swap" in details:
        fields["flavor"] = replace(fields["flavor"], swap_mb=int(details["swap"]))
    if "old-VCPU" in details:
        fields["old_flavor"] = replace(fields["flavor"], vcpus=int(details["old-VCPU"]))
    if cells := _numa_topology(details, fields):
        fields["numa_topology"] = cells
    if "volume" in details:
        fields["volume_backed"] = None if details["volume"] == "unknown" else True
    if "pinned" in details:
        fields["image_properties"] = {"hw_cpu_policy": "dedicated"}
    if "deleted" in details:
        fields |= {"deleted": True, "vm_state": "deleted"}
        if details["deleted"] != "unknown":
            fields["deleted_at"] = NOW - timedelta(seconds=int(details["deleted"]))
        fields |= {"deleted_by_hand": "by-hand" in details, "archived": "archived" in details}
    draft.server(words[0], cell, host, hidden="hidden" in details, **fields)


def _changed(details: Mapping[str, str]) -> dict[str, Any]:
    age = details.get("changed")
    return {"updated_at": NOW - timedelta(seconds=int(age))} if age else {}


def _migration(kind: str):
    def add(draft: Draft, cell: str, words: list[str]) -> None:
        name, source, status = words[1], words[3], words[-1]
        target = words[5] if "to" in words else None
        fields = _odd_fields(source, dict(details_in(words)))
        draft.move(name, kind, status, source, target, **fields)

    return add


def _odd_fields(source: str, details: Mapping[str, str]) -> dict[str, Any]:
    """What the row of a migration has that rows of its instance and its source do not have."""
    fields: dict[str, Any] = {**_changed(details), "between_cells": "between-cells" in details}
    if "row-in" in details:
        fields["cell"] = uuid_of(details["row-in"])
    if source == "none":
        fields["source_host"] = None
    if "none" in (source, details.get("node")):
        fields["source_node"] = None
    return fields


def _provider(draft: Draft, cell: str, words: list[str]) -> None:
    parent, details = words[2] if "of" in words else "", dict(details_in(words))
    root = details.get("root", "")
    draft.provider(
        words[0], amounts_in(words), parent, "sharing" in words, root, **_marks(draft, details)
    )
    reserved = int(dict(details_in(words)).get("reserved", "0"))
    draft.set_inventories(words[0], reserved=reserved)


def _holds(draft: Draft, cell: str, words: list[str]) -> None:
    draft.holds(words[0], words[1], amounts_in(words))


def _owned(draft: Draft, cell: str, words: list[str]) -> None:
    draft.owned(words[0], dict(details_in(words[1:])))


def _build(draft: Draft, cell: str, words: list[str]) -> None:
    age = dict(details_in(words)).get("age")
    draft.builds[uuid_of(words[0])] = NOW - timedelta(seconds=int(age)) if age else None


def _wrote(draft: Draft, cell: str, words: list[str]) -> None:
    draft.wrote(words[0], int(dict(details_in(words))["after"]))


def _forget(draft: Draft, cell: str, words: list[str]) -> None:
    draft.forget(words[0], keep_service="service" in words)


def _forget_service(draft: Draft, cell: str, words: list[str]) -> None:
    draft.services = [row for row in draft.services if row.host != words[0]]


def _rename(draft: Draft, cell: str, words: list[str]) -> None:
    draft.rename(*words)


def _unmapped(draft: Draft, cell: str, words: list[str]) -> None:
    del draft.host_cells[words[0]]


def _host_map(draft: Draft, cell: str, words: list[str]) -> None:
    draft.host_cells[words[0]] = words[1]


def _aggregate(draft: Draft, cell: str, words: list[str]) -> None:
    name, *rest = words
    hosts = tuple(word for word in rest if "=" not in word)
    metadata = dict(word.split("=") for word in rest if "=" in word)
    draft.host_aggregates.append(HostAggregate(draft.aggregate(name), name, hosts, metadata))


def _device(draft: Draft, cell: str, words: list[str]) -> None:
    draft.device(*words)


def _ledger_fault(draft: Draft, cell: str, words: list[str]) -> None:
    kind, subject, *rest = words
    amounts = [*amounts_in(rest).items()]
    name, amount = amounts[0] if amounts else ("", 0)
    what = " ".join(word for word in rest if "=" not in word)
    uuid = subject if kind == "dangling" else uuid_of(subject)
    holder = dict(details_in(rest)).get("holder")
    consumers = (uuid_of(holder),) if holder else ()
    draft.ledger_faults.append(LedgerFault(kind, uuid, what, name, amount, consumers))


def _disabled(draft: Draft, cell: str, words: list[str]) -> None:
    draft.disabled_cells.add(uuid_of(words[0]))


def _map(draft: Draft, cell: str, words: list[str]) -> None:
    name, mapped, *queued = words
    if mapped == "none":
        draft.no_mapping(name)
    elif mapped == "nowhere":
        draft.mapped_nowhere(name, int(dict(details_in(queued))["age"]))
    else:
        draft.mapping(name, mapped, queued == ["queued"])


def _guest(draft: Draft, cell: str, words: list[str]) -> None:
    said = dict(details_in(words))
    devices = tuple(said["devices"].split(",")) if "devices" in said else ()
    marks = ("foreign", "managed-save")
    state = " ".join(w for w in words[3:] if "=" not in w and w not in marks)
    kept = {"managed_save": "managed-save" in words, "snapshots": int(said.get("snapshots", "0"))}
    draft.guest(words[0], words[2], state, devices, ours="foreign" not in words, **kept)


def _neutron(draft: Draft, cell: str, words: list[str]) -> None:
    draft.attached.neutron(silent="silent" in words)


def _port(draft: Draft, cell: str, words: list[str]) -> None:
    draft.attached.port(words[0], words[2], amounts_in(words), dict(details_in(words[3:])))


def _assigned(draft: Draft, cell: str, words: list[str]) -> None:
    draft.attached.device(words[0], words[2], words[4], dict(details_in(words[5:])))


def _cached(draft: Draft, cell: str, words: list[str]) -> None:
    draft.attached.cache(words[0], words[2])


def _chosen(draft: Draft, cell: str, words: list[str]) -> None:
    draft.attached.choose(words[0], words[2])


def _hypervisor(draft: Draft, cell: str, words: list[str]) -> None:
    draft.hypervisor(words[0], answers="silent" not in words)


_PARTS = {
    "host": _host,
    "server": _server,
    "evacuation": _migration("evacuation"),
    "resize": _migration("resize"),
    "migration": _migration("migration"),
    "live-migration": _migration("live-migration"),
    "provider": _provider,
    "holds": _holds,
    "owned": _owned,
    "build": _build,
    "forget": _forget,
    "forget-service": _forget_service,
    "rename": _rename,
    "unmapped": _unmapped,
    "host-map": _host_map,
    "device": _device,
    "aggregate": _aggregate,
    "disabled": _disabled,
    "ledger-fault": _ledger_fault,
    "wrote": _wrote,
    "map": _map,
    "guest": _guest,
    "neutron": _neutron,
    "port": _port,
    "assigned": _assigned,
    "cached": _cached,
    "chosen": _chosen,
    "hypervisor": _hypervisor,
}
