# SPDX-License-Identifier: Apache-2.0
"""packaging/ and devstack/: what an operator's tools are given to read or run."""
