# SPDX-License-Identifier: Apache-2.0
"""What tests of expected allocations begin with: a flavor, an instance, a host's providers."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from trueup.reconcile.facts import (
    ComputeNode,
    Coverage,
    Facts,
    Flavor,
    Instance,
    Inventory,
    Provider,
    SourceStatus,
)

ROOT, CELL = "root-of-h1", "cell1"
NOW = datetime(2026, 11, 21, 12)


def flavor(specs: dict[str, str] | None = None, **amounts: int) -> Flavor:
    plain = {"vcpus": 2, "memory_mb": 256, "root_gb": 0, "ephemeral_gb": 0, "swap_mb": 0}
    return Flavor(name="a-flavor", extra_specs=specs or {}, **(plain | amounts))


def instance(**fields: Any) -> Instance:
    """A settled instance on h1."""
    given = {"flavor": flavor(), **fields}
    plain = Instance(
        uuid="web", name="web", cell=CELL, project="p", user="u", host="h1", node="h1",
        vm_state="active", task_state=None, deleted=False, hidden=False, updated_at=None,
    )  # fmt: skip
    return replace(plain, **given)


def provider(uuid: str, *classes: str, root: str = ROOT, name: str = "", **more: Any) -> Provider:
    stock = {one: Inventory(1000, 0, 1.0) for one in classes}
    return Provider(uuid, name or uuid, 1, root, stock, **more)


def facts(*providers: Provider, nodes: dict[str, str] | None = None, **more: Any) -> Facts:
    """Compute nodes by host, h1 at least; Neutron answered unless `coverage` says otherwise."""
    return Facts(
        **{
            "taken_at": NOW,
            "coverage": Coverage((SourceStatus("Neutron", True),)),
            "cells": {CELL: CELL},
            "providers": {row.uuid: row for row in providers},
            "consumers": {},
            "compute_nodes": tuple(
                ComputeNode(uuid, CELL, host, host)
                for host, uuid in ({"h1": ROOT} | (nodes or {})).items()
            ),
            **more,
        }
    )


PLAIN = provider(ROOT, "VCPU", "MEMORY_MB", "DISK_GB", name="h1")
