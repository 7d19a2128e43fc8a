# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for `nova-manage placement`: Nova 34's options, lines and return codes.

Each composes collect, audit, plan and apply. Where Nova's command goes wrong, ours is right, and a
note on standard error says so.
"""
