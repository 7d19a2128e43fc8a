# SPDX-License-Identifier: Apache-2.0
"""`openstack trueup rehearse`, by itself: it needs both halves, which not every client has."""

from trueup.cli.commands.rehearse import RehearseCommand
from trueup.osc.of_client import OfClientsCloud


class Rehearse(OfClientsCloud, RehearseCommand):
    __doc__ = RehearseCommand.__doc__
