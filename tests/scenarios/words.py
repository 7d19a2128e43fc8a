# SPDX-License-Identifier: Apache-2.0
"""What the words of a line say: amounts are in capitals, all else is not."""

from collections.abc import Iterator


def amounts_in(words: list[str]) -> dict[str, int]:
    pairs = (word.split("=") for word in words if "=" in word and word.split("=")[0].isupper())
    return {name: int(amount) for name, amount in pairs}


def details_in(words: list[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        name, _, value = word.partition("=")
        if not name.isupper():
            yield name, value
