# SPDX-License-Identifier: Apache-2.0
"""Trueup on a real OpenStack; `make real` runs it."""
