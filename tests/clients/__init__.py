# SPDX-License-Identifier: Apache-2.0
"""Operators' clients must print the same with Trueup's service as with upstream's."""
