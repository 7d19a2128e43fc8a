# SPDX-License-Identifier: Apache-2.0
"""Measures upstream's Placement and Trueup's side by side in one run. See README.md."""
