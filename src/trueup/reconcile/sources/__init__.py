# SPDX-License-Identifier: Apache-2.0
"""The services and databases we read: one module or folder each; Placement is also written to."""
