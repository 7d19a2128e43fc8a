# SPDX-License-Identifier: Apache-2.0
"""The service as deployments run it: processes, web servers, and upstream's tools."""
