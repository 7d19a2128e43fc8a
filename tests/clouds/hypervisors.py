# SPDX-License-Identifier: Apache-2.0
"""Records the answers of a real libvirt about its domains, and replays them instead of the binding.

`python -m tests.clouds.hypervisors NAME URI` records every domain there is, as Trueup's own reader
asks for them; recordings/README.md says on what that was done.
"""

import json
import lzma
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

RECORDINGS = Path(__file__).parent / "recordings" / "hypervisors"


class LibvirtError(Exception):
    """What the binding raises."""


def replayed(name: str, uri: str) -> SimpleNamespace:
    """As the module `libvirt`, where one hypervisor answers, and says what was recorded."""
    with lzma.open(RECORDINGS / f"{name}.json.xz", "rt", encoding="utf-8") as source:
        domains = [
            SimpleNamespace(XMLDesc=lambda flags, text=text: text, state=lambda state=state: state)
            for text, state in json.load(source)
        ]

    def opened(asked: str) -> SimpleNamespace:
        if asked != uri:
            raise LibvirtError(f"nothing was recorded of {asked}")
        return SimpleNamespace(listAllDomains=lambda flags: domains, close=lambda: None)

    return SimpleNamespace(
        libvirtError=LibvirtError,
        registerErrorHandler=lambda handler, context: None,
        openReadOnly=opened,
    )


def record(name: str, uri: str) -> None:
    """Record the answers of the libvirt at this address."""
    connection = import_module("libvirt").openReadOnly(uri)
    domains = [(one.XMLDesc(0), one.state()) for one in connection.listAllDomains(0)]
    with lzma.open(RECORDINGS / f"{name}.json.xz", "wt", encoding="utf-8") as target:
        json.dump(domains, target, indent=1)


if __name__ == "__main__":
    record(sys.argv[1], sys.argv[2])
