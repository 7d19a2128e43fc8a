# SPDX-License-Identifier: Apache-2.0
"""What the services wrote into their logs: errors, and the status of each request."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

# oslo.log: 2026-01-01 12:00:00.000 4711 ERROR nova.compute.manager [...] message
_ENTRY = re.compile(
    r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \d+ (?P<level>ERROR|CRITICAL) (?P<logger>\S+) "
    r"(?:\[[^\]]*\] ?)*(?P<message>.*)$"
)
# Lines of a traceback repeat the head of their entry; only its last line says what happened.
_TRACEBACK = re.compile(r"^(?:Traceback \(most recent call last\):| |$|During handling|The above)")
# uWSGI: ... GET /path => generated 12 bytes in 3 msecs (HTTP/1.1 200) ...
_REQUEST = re.compile(r"\] (?P<method>[A-Z]+) (?P<path>\S+) => .*\(HTTP/1\.\d (?P<status>\d{3})\)")
_CHANGING = (
    # Placement's error document: both services send one, each in words of its own.
    (re.compile(r'\{"errors":.*'), "ERROR DOCUMENT"),
    (re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|\b[0-9a-f]{32}\b"), "UUID"),
    (re.compile(r"0x[0-9a-f]+"), "ADDRESS"),
    (re.compile(r"\bcompute\d\b|\bcell\d\b"), "NAME"),
    (re.compile(r"\d+(?:\.\d+)?"), "N"),
)


@dataclass(frozen=True, order=True)
class LoggedError:
    """An error without what differs from one time to the next."""

    service: str
    logger: str
    message: str


@dataclass(frozen=True, order=True)
class LoggedRequest:
    """A request as the access log has it."""

    method: str
    path: str
    status: int


@dataclass
class LogBook:
    """What all services wrote, in chapters: one for each kind of Placement that served."""

    folder: Path
    _errors: dict[str, Counter[LoggedError]] = field(default_factory=dict)
    _chapter: str = "before"
    _read_up_to: dict[Path, int] = field(default_factory=dict)

    def begin(self, chapter: str) -> None:
        """What is written from now on belongs to this chapter."""
        self._read_on()
        self._chapter = chapter

    def errors(self, chapter: str) -> Counter[LoggedError]:
        """How often each error was written in a chapter."""
        self._read_on()
        return self._errors.get(chapter, Counter())

    def _read_on(self) -> None:
        found = self._errors.setdefault(self._chapter, Counter())
        for path in sorted(self.folder.glob("*.log")):
            found.update(errors_in(service_of(path), self._new_lines(path)))

    def _new_lines(self, path: Path) -> list[str]:
        with path.open(errors="replace") as log:
            log.seek(self._read_up_to.get(path, 0))
            lines = log.read().splitlines()
            self._read_up_to[path] = log.tell()
        return lines


def service_of(path: Path) -> str:
    """`nova-compute` for nova-compute-compute1.log: hosts, cells and Placements are alike."""
    return re.sub(r"-(?:(?:compute|cell)\d|upstream|trueup)$", "", path.stem)


def errors_in(service: str, lines: Iterable[str]) -> Iterator[LoggedError]:
    for line in lines:
        entry = _ENTRY.match(line)
        if entry and not _TRACEBACK.match(entry["message"]):
            yield LoggedError(service, entry["logger"], without_what_changes(entry["message"]))


def requests_in(lines: Iterable[str]) -> Iterator[LoggedRequest]:
    for line in lines:
        if found := _REQUEST.search(line):
            yield LoggedRequest(found["method"], found["path"], int(found["status"]))


def without_what_changes(message: str) -> str:
    for pattern, word in _CHANGING:
        message = pattern.sub(word, message)
    return message.strip()
