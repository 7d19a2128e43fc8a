# SPDX-License-Identifier: Apache-2.0
"""What an audit and a repair of a cloud at rest do, in which drift of every kind was planted.

The truth is the simulator's. TRUEUP_HISTORIES sets how many clouds there are, TRUEUP_SEED the
seed of the first.
"""

from tests.simulator.judging import Judge
from tests.simulator.quiet import QuietCloud, audited, drifted, repaired_and_declined, subjects_of
from tests.simulator.quiet import wrong_consumers as wrong_in
from tests.simulator.reporting import seeds, story


def wrong_subjects(quiet: QuietCloud) -> dict[str, frozenset[str]]:
    """What is wrong, and the defect names of it."""
    return {**wrong_in(quiet.cloud), **quiet.cloud.damage}


def test_nothing_wrong_is_passed_over_in_silence():
    for seed in seeds():
        quiet = drifted(seed)
        audit = audited(quiet.cloud)
        named = {subject for _, subject in audit.findings}
        for consumer in wrong_subjects(quiet):
            subjects = subjects_of(quiet.cloud, consumer)
            mentioned = named & subjects or any(uuid in audit.open for uuid in subjects)
            assert mentioned, f"{consumer} is not mentioned; " + story(seed, quiet)


def test_planted_drift_is_found_under_its_name_and_nothing_else_is():
    for seed in seeds():
        quiet = drifted(seed)
        found = audited(quiet.cloud).findings
        truths = Judge(quiet.cloud, hypervisors=False).now().truths
        for consumer, names in wrong_subjects(quiet).items():
            subjects = subjects_of(quiet.cloud, consumer)
            if consumer in truths and truths[consumer].hands_off:
                # As where the host that it was evacuated from is up: it is only mentioned.
                continue
            mine = {name for name, subject in found if subject in subjects}
            assert not names or mine & names, f"{consumer} is {names}; " + story(seed, quiet)
        every = {uuid for one in wrong_subjects(quiet) for uuid in subjects_of(quiet.cloud, one)}
        # After a failed resize either flavor is right on the target.
        every |= {one for one, rights in quiet.cloud.right.items() if len(rights) > 1}
        assert {subject for _, subject in found} <= every, story(seed, quiet)


def test_what_is_repaired_is_what_the_truth_says():
    """Where two things are wrong with one consumer, what is left is said under another name."""
    for seed in seeds():
        quiet = drifted(seed)
        before = audited(quiet.cloud).findings
        after, declined = repaired_and_declined(quiet.cloud)
        for consumer in wrong_in(quiet.cloud):
            subjects = subjects_of(quiet.cloud, consumer)
            repairable = {name for name, subject in before if subject in subjects}
            is_told = any(uuid in after.open for uuid in subjects) or any(
                subject in subjects for _, subject in after.findings
            )
            assert not repairable or is_told, f"{consumer} is still wrong; " + story(seed, quiet)
        assert not (after.findings & before) - declined, story(seed, quiet)
