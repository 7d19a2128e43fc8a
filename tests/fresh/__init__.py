# SPDX-License-Identifier: Apache-2.0
"""Trueup on a machine where nothing was installed before; `make fresh` runs it."""
