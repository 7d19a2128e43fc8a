# SPDX-License-Identifier: Apache-2.0
"""Remedies: the steps that repair a finding, each with its guards, or why there are none. Pure."""
