# SPDX-License-Identifier: Apache-2.0
"""The service as a deployment meets it: processes, servers, upstream's tools on one database."""
