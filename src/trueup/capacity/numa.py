# SPDX-License-Identifier: Apache-2.0
"""NUMA cells of hosts while servers are placed on them: what Nova checks and Placement cannot.

PARITY: as `nova.virt.hardware.numa_fit_instance_to_host` decides, without thread policies.
"""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from trueup.reconcile.expected import Unknown
from trueup.reconcile.expected.cpus import cpu_set, dedicated_cpus
from trueup.reconcile.facts import Flavor, HostCell
from trueup.reconcile.reasons import because

_KIB_IN_MIB = 1024
_SIZE = re.compile(r"(\d+)([KMG]?)I?B?")
_UNITS = {"": 1, "K": 1, "M": 1024, "G": 1024**2}


@dataclass(frozen=True, slots=True)
class CellNeed:
    """What one NUMA cell of a server takes.

    `page_size` is in KiB, or `small`, `large` or `any`; None: its memory may be overcommitted.
    """

    shared: int
    dedicated: int
    memory_mb: int
    page_size: int | str | None = None


@dataclass(frozen=True, slots=True)
class NumaNeed:
    """The NUMA cells of a server; each needs a cell of the host for itself."""

    cells: tuple[CellNeed, ...]

    @property
    def mixed_in_several(self) -> bool:
        """Whether it has shared and dedicated CPUs in several cells: a mask says which is where."""
        kinds = (
            any(cell.shared for cell in self.cells),
            any(cell.dedicated for cell in self.cells),
        )
        return len(self.cells) > 1 and all(kinds)


def need_of(flavor: Flavor, image: Mapping[str, str]) -> NumaNeed | Unknown | None:
    """What a server needs of the NUMA cells of its host; None: it may be anywhere."""

    def setting(name: str) -> str | None:
        return flavor.extra_specs.get(f"hw:{name}") or image.get(f"hw_{name}") or None

    try:
        count, pages = _cells(setting("numa_nodes")), _page_size(setting("mem_page_size"))
        named_cpus = [setting(f"numa_cpus.{number}") for number in range(count)]
        named_memory = [setting(f"numa_mem.{number}") for number in range(count)]
        cpus = _parts(
            flavor.vcpus,
            [len(cpu_set(text or "")) for text in named_cpus] if any(named_cpus) else None,
            max(count, 1),
            "CPUs",
        )
        memory = _parts(
            flavor.memory_mb,
            [int(text or 0) for text in named_memory] if any(named_memory) else None,
            max(count, 1),
            "MiB",
        )
    except ValueError as error:
        return Unknown(because("numa-settings-unreadable", error=str(error)))
    amounts = dedicated_cpus(flavor, image)
    if isinstance(amounts, Unknown):
        return amounts
    pinned = amounts.get("PCPU", 0)
    if not (count or pages or pinned):
        return None
    if pinned and amounts.get("VCPU"):
        return NumaNeed((CellNeed(amounts["VCPU"], pinned, memory[0], pages),) * len(cpus))
    cells = [
        CellNeed(0 if pinned else number, number if pinned else 0, memory_mb, pages)
        for number, memory_mb in zip(cpus, memory, strict=True)
    ]
    # Emulator threads of their own take one more, of the first cell.
    isolated = max(pinned - flavor.vcpus, 0)
    first = replace(cells[0], dedicated=cells[0].dedicated + isolated)
    return NumaNeed((first, *cells[1:]))


@dataclass(slots=True)
class _Cell:
    """What is left of a cell of a host; the ratios are those by which it may be overcommitted."""

    cell: HostCell
    cpu_ratio: float
    ram_ratio: float
    dedicated_left: int
    cpus_used: int
    memory_used: int
    free_pages: dict[int, int]

    @property
    def memory_left(self) -> int:
        return self.cell.memory_mb - self.memory_used

    def fits(self, need: CellNeed) -> bool:
        """Whether a cell of a server fits into this one."""
        if need.page_size is not None:
            has_memory = self.page_for(need) is not None
        elif self.free_pages:
            has_memory = self._in_small_pages(need)
        else:
            left = self.memory_left if need.dedicated else self.cell.memory_mb
            has_memory = need.memory_mb <= left
        if not has_memory or need.dedicated > self.dedicated_left:
            return False
        # Servers that have dedicated CPUs only are not bound by what is overcommitted.
        return not need.shared or self._within_ratios(need)

    def page_for(self, need: CellNeed) -> int | None:
        """The size of the pages that its memory would come from; None: there are not enough."""
        sizes = sorted(self.free_pages, reverse=True)
        if need.page_size == "large":
            sizes = sizes[:-1]
        elif need.page_size == "small":
            sizes = sizes[-1:]
        elif isinstance(need.page_size, int):
            sizes = [size for size in sizes if size == need.page_size]
        wanted = need.memory_mb * _KIB_IN_MIB
        fitting = (size for size in sizes if wanted % size == 0)
        return next((size for size in fitting if wanted <= self.free_pages[size] * size), None)

    def take(self, need: CellNeed) -> None:
        smallest = min(self.free_pages, default=None)
        size = smallest if need.page_size is None else self.page_for(need)
        if size is not None:
            self.free_pages[size] -= need.memory_mb * _KIB_IN_MIB // size
        self.dedicated_left -= need.dedicated
        self.cpus_used += need.shared
        self.memory_used += need.memory_mb

    def _in_small_pages(self, need: CellNeed) -> bool:
        smallest = min(self.cell.pages, key=lambda size: size.size_kb)
        # What may be overcommitted is bound by the ratio, and not by what is free.
        number = self.free_pages[smallest.size_kb] if need.dedicated else smallest.total
        wanted = need.memory_mb * _KIB_IN_MIB
        return wanted <= number * smallest.size_kb and wanted % smallest.size_kb == 0

    def _within_ratios(self, need: CellNeed) -> bool:
        cpus = len(self.cell.shared)
        return (
            need.shared <= cpus
            and self.cpus_used + need.shared <= cpus * self.cpu_ratio
            and self.memory_used + need.memory_mb <= self.cell.memory_mb * self.ram_ratio
        )


class HostCells:
    """The NUMA cells of a host while servers are placed there."""

    def __init__(self, cells: Iterable[HostCell], cpu_ratio: float, ram_ratio: float) -> None:
        """The ratios are those by which the host may be overcommitted."""
        self._cells = [
            _Cell(
                cell=cell,
                cpu_ratio=cpu_ratio,
                ram_ratio=ram_ratio,
                dedicated_left=len(cell.free_dedicated),
                cpus_used=cell.cpus_used,
                memory_used=cell.memory_used_mb,
                free_pages={size.size_kb: size.free for size in cell.pages},
            )
            for cell in cells
        ]

    def place(self, need: NumaNeed) -> bool:
        """Place a server, if its cells fit into as many cells of the host."""
        for chosen in itertools.permutations(self._in_turn(need), len(need.cells)):
            if all(cell.fits(wanted) for cell, wanted in zip(chosen, need.cells, strict=True)):
                for cell, wanted in zip(chosen, need.cells, strict=True):
                    cell.take(wanted)
                return True
        return False

    def count(self, need: NumaNeed, most: int) -> int:
        """How many servers fit, one after the other; at most so many."""
        return next((number for number in range(most) if not self.place(need)), most)

    def _in_turn(self, need: NumaNeed) -> list[_Cell]:
        """The cells in the order in which they are tried: by default, the emptiest first."""
        if len(self._cells) <= len(need.cells):
            return self._cells
        by_memory = sorted(self._cells, key=lambda cell: cell.memory_left, reverse=True)
        if need.cells[0].dedicated:
            return sorted(by_memory, key=lambda cell: cell.dedicated_left, reverse=True)
        return sorted(by_memory, key=lambda cell: cell.cpus_used)


def _cells(text: str | None) -> int:
    """How many cells are asked for; 0: it is not said. Raises ValueError."""
    if text is None:
        return 0
    if (number := int(text)) < 1:
        raise ValueError(f"hw:numa_nodes is {text}")
    return number


def _page_size(text: str | None) -> int | str | None:
    """Raises ValueError."""
    if text is None or text in ("small", "large", "any"):
        return text
    match = _SIZE.fullmatch(text.strip().upper())
    if match is None:
        raise ValueError(f"hw:mem_page_size is {text}")
    return int(match[1]) * _UNITS[match[2][:1]]


def _parts(whole: int, named: Sequence[int] | None, count: int, what: str) -> list[int]:
    """An amount by cell: as it is named, or in equal parts. Raises ValueError."""
    if named is not None:
        if sum(named) != whole:
            raise ValueError(f"the {what} of its cells do not add up to {whole}")
        return list(named)
    if whole % count:
        raise ValueError(f"{whole} {what} are not to be shared among {count} cells")
    return [whole // count] * count
