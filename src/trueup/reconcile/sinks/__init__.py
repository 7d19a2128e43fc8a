# SPDX-License-Identifier: Apache-2.0
"""Sinks: commands, files, syslog and webhooks that get what happened. None of them stops a run."""

from trueup.reconcile.sinks.courier import Couriers
from trueup.reconcile.sinks.message import Message, Sink
from trueup.reconcile.sinks.words import SinkInvalid, sink_of, sinks_of
