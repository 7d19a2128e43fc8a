# SPDX-License-Identifier: Apache-2.0
"""Recorded clouds: the databases of a real OpenStack in known states, loaded for tests."""
