# SPDX-License-Identifier: Apache-2.0
"""Every field of the facts has a reader, or is listed here with the defect that will read it.

A reader is code outside of what gathers facts, keeps them or renames them. Fields are known by
their names only: a name that two kinds of facts share counts as read for both.
"""

import ast
from collections.abc import Iterable
from dataclasses import fields

from tests import tree
from tests.test_house_rules import is_within, keep
from trueup.reconcile import facts as kinds

FACTS = "trueup.reconcile.facts"
GATHERING = (
    FACTS,
    "trueup.reconcile.sources",
    "trueup.reconcile.collect",
    "trueup.reconcile.snapshot",
    "trueup.reconcile.anonymize",
)
READERS = tuple(
    one
    for one in tree.sources("src")
    if is_within(one.module, ("trueup.reconcile", "trueup.cli"))
    and not is_within(one.module, GATHERING)
)

# Fields whose reader comes with the defects, by the defect or command that will read them.
AWAITED = {
    "trueup explain host": ("HostAggregate.metadata",),
    "ironic nodes": ("Facts.deleted_services",),
    "allocation-without-inventory": (
        "Inventory.min_unit", "Inventory.max_unit", "Inventory.step_size",
    ),
    "domain-elsewhere": (
        "Domain.mediated_devices", "Instance.power_state",
    ),
    "missing-device-allocation": (
        "AssignedResource.identifier",
        "PciDevice.vendor", "PciDevice.product",
        "PciDevice.numa_node", "PciRequest.numa_policy",
        "Instance.assigned_resources",
    ),
    "stale-instance-mapping": (
        "Facts.request_specs",
    ),
    "trueup explain": (
        "Facts.block_devices", "BlockDevice.boot_index", "BlockDevice.destination",
        "BlockDevice.guest_format", "BlockDevice.size_gb",
        "NumaCell.processors",
        "NumaCell.cpu_policy", "NumaCell.thread_policy",
        "NumaTopology.emulator_threads_policy",
    ),
}  # fmt: skip


def names_loaded(nodes: Iterable[ast.AST]) -> set[str]:
    """Every attribute that is read somewhere below these nodes."""
    return {
        one.attr
        for node in nodes
        for one in ast.walk(node)
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)
    }


def names_read() -> set[str]:
    """The attributes that readers read, also by way of a property or method of the facts."""
    functions = [
        function
        for one in tree.sources("src")
        if is_within(one.module, (FACTS,))
        for function in one.functions()
    ]
    read: set[str] = set()
    more = names_loaded(one.tree for one in READERS)
    while more - read:
        read |= more
        more = names_loaded(one for one in functions if one.name in read)
    return read


def fields_of_facts() -> dict[str, str]:
    """The name of each field, by the kind and name."""
    known = (getattr(kinds, name) for name in kinds.__all__)
    return {
        f"{kind.__name__}.{field.name}": field.name
        for kind in known
        if isinstance(kind, type) and hasattr(kind, "__dataclass_fields__")
        for field in fields(kind)
    }


def awaited() -> set[str]:
    return {field for listed in AWAITED.values() for field in listed}


def test_every_field_of_the_facts_has_a_reader():
    read = names_read()
    keep(
        (
            field
            for field, name in fields_of_facts().items()
            if name not in read and field not in awaited()
        ),
        "read it, stop collecting it, or list it in AWAITED with the defect that will read it",
    )


def test_no_field_that_is_awaited_has_a_reader_already():
    read, known = names_read(), fields_of_facts()
    keep(
        (field for field in awaited() if field not in known or known[field] in read),
        "it is gone, or has its reader: take it off AWAITED",
    )
