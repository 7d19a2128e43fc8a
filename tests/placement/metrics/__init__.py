# SPDX-License-Identifier: Apache-2.0
"""The metrics of the service."""
