# SPDX-License-Identifier: Apache-2.0
"""Capacity: how many more servers fit, by the search that answers allocation candidates. Pure.

It joins the two halves: reconcile read the cloud and knows what of its ledger is wrong, and the
search of the service says where a server fits.
"""
