# SPDX-License-Identifier: Apache-2.0
"""The definition of a libvirt domain, for its next start. Defining does not affect a running guest.

A definition that is removed leaves the disks where they are.
"""

from trueup.reconcile.changes.target import NOT_AS_PLANNED, Found, Reply
from trueup.reconcile.facts import LIBVIRT
from trueup.reconcile.reasons import because
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.libvirt import Hypervisors
from trueup.reconcile.steps import Change, DomainDefinition, DomainText, Version


def read(target: DomainDefinition, cloud: Cloud) -> Found:
    """The inactive definition; its version is a digest, because libvirt keeps no version."""
    text = _hypervisors(cloud).definition(target.host, target.domain)
    if text is None:
        return Found(None, {target.domain: None})
    state = DomainText(text)
    return Found(state, {target.domain: state.digest})


def write(change: Change, cloud: Cloud) -> Reply:
    """Define the domain anew, or remove its definition if there is none afterwards.

    libvirt compares no version, so we compare it just before.
    """
    target = change.target
    assert isinstance(target, DomainDefinition)
    if read(target, cloud).version != change.version:
        return NOT_AS_PLANNED
    if change.after is None:
        words = _hypervisors(cloud).undefine(target.host, target.domain, target.discards)
    else:
        assert isinstance(change.after, DomainText)
        words = _hypervisors(cloud).define(target.host, change.after.xml)
    if words:
        return Reply(False, reason=because("answer", words=words))
    return Reply(True, version=version_after(change))


def version_after(change: Change) -> Version | None:
    """No version for a removed domain; an unknown version for a defined domain.

    libvirt adds defaults, so the text that it keeps is not the text that we wrote.
    """
    if change.after is not None:
        return None
    assert isinstance(change.target, DomainDefinition)
    return {change.target.domain: None}


def _hypervisors(cloud: Cloud) -> Hypervisors:
    if cloud.hypervisors is None:
        raise Unreachable(LIBVIRT, "it is not asked; name the hypervisors with --libvirt")
    return cloud.hypervisors
