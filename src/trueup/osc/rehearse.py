# SPDX-License-Identifier: Apache-2.0
"""`openstack trueup rehearse`, in a module of its own: it needs both halves of Trueup."""

from trueup.cli.commands.rehearse import RehearseCommand
from trueup.osc.of_client import OfClientsCloud


class Rehearse(OfClientsCloud, RehearseCommand):
    __doc__ = RehearseCommand.__doc__
