# SPDX-License-Identifier: Apache-2.0
"""Every write request against every other one, at the same moment, on one server or two nodes."""
