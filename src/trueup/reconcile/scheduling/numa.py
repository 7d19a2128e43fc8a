# SPDX-License-Identifier: Apache-2.0
"""Does a server fit into the NUMA cells of a host? Nova checks it, and Placement cannot. Pure.

PARITY: as `nova.virt.hardware.numa_fit_instance_to_host` decides.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from trueup.reconcile.expected import Unknown
from trueup.reconcile.expected.cpus import cpu_policy, cpu_set
from trueup.reconcile.facts import Flavor, HostCell, NumaCell, NumaTopology
from trueup.reconcile.reasons import because

_KIB_IN_MIB = 1024
_SIZE = re.compile(r"(\d+)([KMG]?)I?B?")
_UNITS = {"": 1, "K": 1, "M": 1024, "G": 1024**2}
_PINNED = ("dedicated", "mixed")
_THREADS = {"required": "require", "forbidden": "isolate"}


def topology_of(flavor: Flavor, image: Mapping[str, str]) -> NumaTopology | Unknown | None:
    """The NUMA cells that a new server asks for; None: it may be anywhere."""

    def setting(name: str) -> str | None:
        return flavor.extra_specs.get(f"hw:{name}") or image.get(f"hw_{name}") or None

    policy = cpu_policy(flavor, image)
    if isinstance(policy, Unknown):
        return policy

    def settings(name: str) -> list[str]:
        found: list[str] = []
        while text := setting(f"{name}.{len(found)}"):
            found.append(text)
        return found

    try:
        count, pages = _count(setting("numa_nodes")), _page_size(setting("mem_page_size"))
        if not (count or pages or policy.name in _PINNED):
            return None
        named, sizes = settings("numa_cpus"), settings("numa_mem")
        if bool(named) != bool(sizes):
            raise ValueError("hw:numa_cpus and hw:numa_mem belong together")
        cpus = _cpus(flavor.vcpus, max(count, 1), named)
        memory = _memory(flavor.memory_mb, max(count, 1), sizes)
    except ValueError as error:
        return Unknown(because("numa-settings-unreadable", error=str(error)))
    key = "trait:HW_CPU_HYPERTHREADING"
    trait = flavor.extra_specs.get(key) or image.get(key) or ""
    threads = _THREADS.get(trait, setting("cpu_thread_policy"))
    cells = (
        NumaCell(
            number=number,
            processors=tuple(sorted(mine - policy.dedicated)),
            pinned=tuple(sorted(mine & policy.dedicated)),
            memory_mb=memory[number],
            cpu_policy=policy.name,
            thread_policy=threads,
            page_size=pages,
        )
        for number, mine in enumerate(cpus)
    )
    return NumaTopology(tuple(cells), policy.emulator)


@dataclass(slots=True)
class _Cell:
    """What is left of a cell of a host; the ratios are those by which it may be overcommitted.

    `free_cores`: how many of its dedicated threads each core has free.
    """

    cell: HostCell
    cpu_ratio: float
    ram_ratio: float
    free_cores: list[int]
    cpus_used: int
    memory_used: int
    free_pages: dict[int, int]

    @classmethod
    def of(cls, cell: HostCell, cpu_ratio: float, ram_ratio: float) -> "_Cell":
        free = cell.free_dedicated
        return cls(
            cell=cell,
            cpu_ratio=cpu_ratio,
            ram_ratio=ram_ratio,
            free_cores=[len(core & free) for core in cell.cores],
            cpus_used=cell.cpus_used,
            memory_used=cell.memory_used_mb,
            free_pages={size.size_kb: size.free for size in cell.pages},
        )

    @property
    def memory_left(self) -> int:
        return self.cell.memory_mb - self.memory_used

    def lacks(self, need: NumaCell, emulator: int = 0) -> str:
        """What it lacks for a cell of a server; empty if that fits.

        The threads of the emulator take `emulator` CPUs more.
        """
        lack = self._memory_lack(need)
        if not lack and need.cpu_policy in _PINNED and not self._packs(need, emulator):
            lack = self._cpu_lack(need, emulator)
        if not lack and need.cpu_policy != "dedicated":
            lack = self._ratio_lack(need)
        return lack

    def page_for(self, need: NumaCell) -> int | None:
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

    def take(self, need: NumaCell, emulator: int = 0) -> None:
        smallest = min(self.free_pages, default=None)
        size = smallest if need.page_size is None else self.page_for(need)
        if size is not None:
            self.free_pages[size] -= need.memory_mb * _KIB_IN_MIB // size
        if need.cpu_policy in _PINNED:
            for core, taken in enumerate(self._packed(need, emulator) or ()):
                self.free_cores[core] -= taken
        self.cpus_used += len(need.processors)
        self.memory_used += need.memory_mb

    def _memory_lack(self, need: NumaCell) -> str:
        pinned, wanted = need.cpu_policy in _PINNED, need.memory_mb
        if need.page_size is not None:
            if self.page_for(need) is not None:
                return ""
            size = f"{need.page_size} KiB" if isinstance(need.page_size, int) else need.page_size
            return f"not enough free pages ({size}) for {wanted} MiB"
        if self.free_pages:
            smallest = min(self.cell.pages, key=lambda size: size.size_kb)
            # What may be overcommitted is bound by the ratio, and not by what is free.
            number = self.free_pages[smallest.size_kb] if pinned else smallest.total
            left = number * smallest.size_kb // _KIB_IN_MIB
            if wanted * _KIB_IN_MIB % smallest.size_kb:
                return f"{wanted} MiB are no whole pages of {smallest.size_kb} KiB"
        else:
            left = self.memory_left if pinned else self.cell.memory_mb
        return "" if wanted <= left else f"{left} MiB, {wanted} are needed"

    def _cpu_lack(self, need: NumaCell, emulator: int) -> str:
        wanted, free = len(need.pinned) + emulator, sum(self.free_cores)
        if wanted > free:
            return f"{free} dedicated CPUs are free, {wanted} are needed"
        return f"no cores for {wanted} CPUs with the thread policy {need.thread_policy}"

    def _ratio_lack(self, need: NumaCell) -> str:
        cpus, wanted = len(self.cell.shared), len(need.processors)
        if wanted > cpus or self.cpus_used + wanted > cpus * self.cpu_ratio:
            return f"{self.cpus_used} of {cpus} shared CPUs (ratio {self.cpu_ratio}) are used"
        if self.memory_used + need.memory_mb > self.cell.memory_mb * self.ram_ratio:
            return (
                f"{self.memory_used} of {self.cell.memory_mb} MiB (ratio {self.ram_ratio}) are used"
            )
        return ""

    def _packs(self, need: NumaCell, emulator: int) -> bool:
        """Whether its dedicated CPUs fit."""
        if need.thread_policy == "isolate":
            return self._isolated(len(need.pinned), emulator) is not None
        return self._threads_taken(need, emulator) is not None

    def _packed(self, need: NumaCell, emulator: int) -> list[int] | None:
        """How many threads of each core its dedicated CPUs take; None: they do not fit."""
        if need.thread_policy == "isolate":
            return self._isolated(len(need.pinned), emulator)
        threads = self._threads_taken(need, emulator)
        if threads is None:
            return None
        whole = [threads if left >= threads else 0 for left in self.free_cores]
        usable = whole if threads else self.free_cores
        return self._first(usable, len(need.pinned), emulator)

    def _threads_taken(self, need: NumaCell, emulator: int) -> int | None:
        """How many threads of a core it takes; 0: all that are free; None: it does not fit."""
        free, wanted = self.free_cores, len(need.pinned)
        if emulator and (not wanted or wanted + emulator > sum(free)):
            return None
        required = need.thread_policy == "require"
        if required and self._threads_per_core <= 1:
            return None
        cores = Counter(free)
        for threads in range(max(cores, default=0), 1 if required else 0, -1):
            enough = sum(number for left, number in cores.items() if left >= threads)
            if wanted <= enough * threads:
                return threads
        return None if required or wanted > sum(free) else 0

    def _first(self, usable: Sequence[int], wanted: int, emulator: int) -> list[int]:
        """The first of these threads, and the first that is left then, for the emulator."""
        taken = []
        for threads in usable:
            taken.append(min(threads, wanted))
            wanted -= taken[-1]
        for core, free in enumerate(self.free_cores):
            if emulator and free > taken[core]:
                taken[core] += emulator
                break
        return taken

    def _isolated(self, wanted: int, emulator: int) -> list[int] | None:
        """A whole core for each CPU: nobody else may use its other threads."""
        threads = self._threads_per_core
        whole = [core for core, free in enumerate(self.free_cores) if free == threads]
        # PARITY: hosts with threads know this policy only if all processors are for both kinds.
        known = threads == 1 or self.cell.dedicated == self.cell.shared
        if not known or not wanted or wanted > len(whole):
            return None
        chosen = whole[:wanted]
        if emulator:
            others = (n for n, free in enumerate(self.free_cores) if free and n not in chosen)
            spare = next(others, None)
            if spare is None:
                return None
            chosen.append(spare)
        return [free if core in chosen else 0 for core, free in enumerate(self.free_cores)]

    @property
    def _threads_per_core(self) -> int:
        return max((len(core) for core in self.cell.cores), default=1)


@dataclass(frozen=True, slots=True)
class Fit:
    """Which cells of a host a server may be in, by number.

    `lack`: what the host lacks, if there are none. `open`: why this is not known.
    """

    places: tuple[frozenset[int], ...] = ()
    lack: str = ""
    open: str = ""


class HostCells:
    """The NUMA cells of a host while servers are placed there."""

    def __init__(self, cells: Iterable[HostCell], cpu_ratio: float, ram_ratio: float) -> None:
        """The ratios are those by which the host may be overcommitted."""
        self._cells = [_Cell.of(cell, cpu_ratio, ram_ratio) for cell in cells]

    def place(self, topology: NumaTopology) -> bool:
        """Place a server, if its cells fit into as many cells of the host."""
        needs = _needs(topology)
        for chosen in itertools.permutations(self._in_turn(topology), len(needs)):
            if not any(cell.lacks(*need) for cell, need in zip(chosen, needs, strict=True)):
                for cell, need in zip(chosen, needs, strict=True):
                    cell.take(*need)
                return True
        return False

    def count(self, topology: NumaTopology, most: int) -> int:
        """How many servers fit, one after the other; at most so many."""
        return next((number for number in range(most) if not self.place(topology)), most)

    def fit(self, topology: NumaTopology) -> Fit:
        """Where one server fits.

        PARITY: Nova keeps the size of the pages that it chose for a cell of the server when it
        tries the next cell of the host, and confuses cells of the server by their numbers. So its
        answer depends on the order in which it tries, unless those are alike.
        """
        needs, cells = _needs(topology), self._cells
        if len(cells) < len(needs):
            return Fit(lack=f"has {len(cells)} NUMA cells, {len(needs)} are needed")
        lacks = [cell.lacks(*needs[0]) for cell in cells]
        alike = len({_amounts(*need) for need in needs}) == 1
        fitting = [cell for cell, lack in zip(cells, lacks, strict=True) if not lack]
        if len(fitting) < (len(needs) if alike else 1):
            found = (f"cell {cell.cell.number}: {lack}" for cell, lack in self._lacking(lacks))
            return Fit(lack="; ".join(found))
        if any(len(self._sizes(need)) > 1 for need, _ in needs):
            return Fit(open="it depends on the size of pages that Nova tries first")
        if alike:
            sets = itertools.combinations(fitting, len(needs))
            return Fit(tuple(frozenset(cell.cell.number for cell in chosen) for chosen in sets))
        if [cell.cell.number for cell in cells] != [0, 1]:
            return Fit(open="it depends on the order in which Nova tries cells of different sizes")
        swapped = ((cells[0], cells[1]), (cells[1], cells[0]))
        fits = any(
            not any(cell.lacks(*need) for cell, need in zip(chosen, needs, strict=True))
            for chosen in swapped
        )
        if fits:
            return Fit((frozenset({0, 1}),))
        return Fit(lack="its cells have no room for both cells of the server at once")

    def _lacking(self, lacks: Sequence[str]) -> Iterator[tuple[_Cell, str]]:
        return ((cell, lack) for cell, lack in zip(self._cells, lacks, strict=True) if lack)

    def _sizes(self, need: NumaCell) -> set[int | None]:
        if not isinstance(need.page_size, str):
            return set()
        return {cell.page_for(need) for cell in self._cells} - {None}

    def _in_turn(self, topology: NumaTopology) -> list[_Cell]:
        """The cells in the order in which they are tried: by default, the emptiest first."""
        needs = topology.cells or ()
        if len(self._cells) <= len(needs):
            return self._cells
        by_memory = sorted(self._cells, key=lambda cell: cell.memory_left, reverse=True)
        if needs[0].cpu_policy in _PINNED:
            return sorted(by_memory, key=lambda cell: sum(cell.free_cores), reverse=True)
        return sorted(by_memory, key=lambda cell: cell.cpus_used)


def _needs(topology: NumaTopology) -> list[tuple[NumaCell, int]]:
    """The cells of a server; the threads of its emulator have a CPU beside those of the first."""
    isolated = int(topology.emulator_threads_policy == "isolate")
    return [(cell, 0 if at else isolated) for at, cell in enumerate(topology.cells or ())]


def _amounts(need: NumaCell, emulator: int) -> tuple[int, ...]:
    return len(need.processors), len(need.pinned), need.memory_mb, emulator


def _count(text: str | None) -> int:
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


def _cpus(whole: int, count: int, named: Sequence[str]) -> list[frozenset[int]]:
    """The CPUs of each cell: as they are named, or in equal parts. Raises ValueError."""
    if named:
        found = [cpu_set(text) for text in named]
        if len(found) != count or sorted(itertools.chain(*found)) != list(range(whole)):
            raise ValueError(f"the CPUs of its cells are not 0 to {whole - 1}, each once")
        return found
    size = _part(whole, count, "CPUs")
    return [frozenset(range(size * number, size * (number + 1))) for number in range(count)]


def _memory(whole: int, count: int, named: Sequence[str]) -> list[int]:
    """The MiB of each cell: as they are named, or in equal parts. Raises ValueError."""
    if named:
        found = [int(text) for text in named]
        if len(found) != count or sum(found) != whole:
            raise ValueError(f"the MiB of its cells do not add up to {whole}")
        return found
    return [_part(whole, count, "MiB")] * count


def _part(whole: int, count: int, what: str) -> int:
    if whole % count:
        raise ValueError(f"{whole} {what} are not to be shared among {count} cells")
    return whole // count
