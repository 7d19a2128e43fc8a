# SPDX-License-Identifier: Apache-2.0
"""Bad input of every kind, on every route: what upstream refuses, ours refuses the same way."""
