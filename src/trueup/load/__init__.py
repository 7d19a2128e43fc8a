# SPDX-License-Identifier: Apache-2.0
"""Who asks Placement how much, from a log or from the service's metrics."""
