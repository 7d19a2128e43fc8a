# SPDX-License-Identifier: Apache-2.0
"""The NUMA cells that a server asks for, in a few words."""

from trueup.reconcile.facts import NumaCell, NumaTopology


def server_cells(
    shared: int,
    dedicated: int,
    memory_mb: int,
    page_size: int | str | None = None,
    *,
    count: int = 1,
    threads: str | None = None,
) -> NumaTopology:
    """So many cells of this kind."""
    policy = "mixed" if shared and dedicated else "dedicated" if dedicated else None
    cells = (
        NumaCell(
            number=number,
            processors=tuple(range(number * 10, number * 10 + shared)),
            pinned=tuple(range(number * 10 + 5, number * 10 + 5 + dedicated)),
            memory_mb=memory_mb,
            cpu_policy=policy,
            thread_policy=threads,
            page_size=page_size,
        )
        for number in range(count)
    )
    return NumaTopology(tuple(cells))
