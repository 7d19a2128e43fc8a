# SPDX-License-Identifier: Apache-2.0
"""Metrics of the service for Prometheus, summed over all worker processes."""
