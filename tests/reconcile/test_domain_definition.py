# SPDX-License-Identifier: Apache-2.0
from trueup.reconcile.domain_definition import DomainText


def test_the_version_of_a_definition_follows_its_text():
    assert DomainText("<a/>").digest == DomainText("<a/>").digest
    assert DomainText("<a/>").digest != DomainText("<b/>").digest
