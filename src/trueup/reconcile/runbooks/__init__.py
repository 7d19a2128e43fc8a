# SPDX-License-Identifier: Apache-2.0
"""Runbooks: what operators do in many steps, composed of collect, audit, plan and apply."""
