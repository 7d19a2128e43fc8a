# SPDX-License-Identifier: Apache-2.0
"""The definition of a libvirt domain, for its next start. A running guest is not affected."""

from trueup.reconcile.changes.target import Found, Reply, digest
from trueup.reconcile.facts import LIBVIRT
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.libvirt import Hypervisors
from trueup.reconcile.steps import Change, DomainDefinition, DomainText


def read(target: DomainDefinition, cloud: Cloud) -> Found:
    """The inactive definition; its version is a digest, because libvirt keeps no version."""
    text = _hypervisors(cloud).definition(target.host, target.domain)
    if text is None:
        return Found(None, {target.domain: None})
    state = DomainText(text)
    return Found(state, {target.domain: digest(state)})


def write(change: Change, cloud: Cloud) -> Reply:
    """Define the domain anew. libvirt compares no version, so it is compared right before."""
    assert isinstance(change.target, DomainDefinition)
    assert isinstance(change.after, DomainText)
    if read(change.target, cloud).version != change.version:
        return Reply(False, reason="the definition was changed since")
    reason = _hypervisors(cloud).define(change.target.host, change.after.xml)
    return Reply(not reason, reason=reason)


def version_after(change: Change) -> None:
    """Not known: libvirt adds defaults, so the text that it keeps is not the one we wrote."""
    return


def _hypervisors(cloud: Cloud) -> Hypervisors:
    if cloud.hypervisors is None:
        raise Unreachable(LIBVIRT, "it is not asked; name the hypervisors with --libvirt")
    return cloud.hypervisors
