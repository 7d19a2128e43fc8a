# SPDX-License-Identifier: Apache-2.0
"""What Nova does, write by write, in the order of Nova 34's source.

Each operation is a generator that stops after each write and says how long it may take to the next
one. The texts beside them name Nova's functions.
"""
