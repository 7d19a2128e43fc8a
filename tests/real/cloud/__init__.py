# SPDX-License-Identifier: Apache-2.0
"""A small real OpenStack on one machine. Only the hypervisors and the network agents are fakes."""
