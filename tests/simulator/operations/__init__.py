# SPDX-License-Identifier: Apache-2.0
"""Nova's operations, write by write, in the order of Nova 34's source.

Each operation is a generator. It yields after each write, with the time until the next one: SHORT
or LONG. Docstrings name the functions of Nova that make these writes.
"""
