# SPDX-License-Identifier: Apache-2.0
"""Half one: the Placement service, a drop-in for upstream's."""
