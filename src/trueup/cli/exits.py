# SPDX-License-Identifier: Apache-2.0
"""The words for every error an operator may meet, and its exit code."""

import os
from collections.abc import Callable
from typing import Any

from trueup.cli import muting, outcomes
from trueup.cli.terminal import options
from trueup.cli.terminal.extras import how_to_install
from trueup.cli.terminal.given import complete
from trueup.exit_codes import ExitCode
from trueup.reconcile import audit, files, plan, sinks
from trueup.reconcile.collect import selection
from trueup.reconcile.copies import ledger_copy, rehearse
from trueup.reconcile.plan import automatic, plan_file, policy_file, rulings
from trueup.reconcile.reasons import Reason
from trueup.reconcile.report import story_subjects
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.runbooks import ghosts, rebuild
from trueup.reconcile.runs import approvals, journal, journals, keygen, undo, verification
from trueup.reconcile.sources import errors as cloud
from trueup.reconcile.sources.nova.contract import API_CELL
from trueup.reconcile.verdicts import acknowledgement_file
from trueup.reconcile.watch import errors as watch
from trueup.reconcile.wording import counted
from trueup.web import errors as web

_NO_DOMAIN = "no hypervisor that answered has such a domain of a deleted instance"
# What makes a file of each kind.
_MADE_BY = {
    "audit": "trueup audit --save FILE",
    "copy of a ledger": "trueup ledger export",
    "log of messages": "--send-to file:PATH",
    "plan": "trueup plan --out FILE",
    "snapshot": "trueup snapshot save FILE",
}


def _name_a_file(project: str) -> str:
    """What to do without a configuration file of this project that can be used."""
    if project != "nova":
        return f"Name the {project}.conf of the service with --{project}-conf."
    return (
        "Name the nova.conf that nova-api or nova-conductor uses with --nova-conf "
        "(for 'trueup nova-manage': with --config-file). A command with --nova-api needs none."
    )


def _near(names: tuple[str, ...], kind: str) -> str:
    """What to do about a name that nothing of this kind has."""
    if names:
        return f"Did you mean {' or '.join(names)}? Check the spelling."
    if kind == "project":
        return "Nova knows projects only by their IDs, as `openstack project list` shows them."
    if kind in {"instance", "consumer"}:
        return (
            "Check the spelling. An option takes the uuid of an instance, and no name: "
            "'trueup explain instance NAME' shows the uuid."
        )
    if kind in {"cell", "provider"}:
        return f"Check the spelling; a {kind} has a name and a uuid."
    return "Check the spelling."


def _of_another_cloud(refused: plan.PlanForeign) -> str:
    """Why a plan does not fit: it is for other cells, or Nova was read in another way."""
    planned, found = ({API_CELL} <= {*cells} for cells in (refused.planned, refused.found))
    if planned != found:
        ways = {True: "over its API", False: "from its databases"}
        return (
            f"the plan was made of what was read of Nova {ways[planned]}, and Nova is read now "
            f"{ways[found]}. Name the cloud with the same options as for 'trueup plan'."
        )
    return (
        f"the plan is for another cloud: its cells are {', '.join(refused.planned)}, "
        f"and this cloud has {', '.join(refused.found)}. Name the right nova.conf with --nova-conf."
    )


def _not_approved(refused: approvals.NotApproved) -> str:
    """Why the approvals of a plan do not suffice, and what each refused signature is."""
    if revoked := [why for why in refused.refused if why.name == "approval-revoked"]:
        return (
            f"the plan is not to be trusted: {in_words(revoked[0])}, and has signed it. Nothing is "
            "written, whoever else approved it. Make a new plan with 'trueup plan --out FILE'."
        )
    found = ", ".join(approval.by for approval in refused.approvals) or "nobody"
    reasons = "".join(f" A signature does not count: {in_words(why)}." for why in refused.refused)
    return (
        f"the plan needs the approval of {counted(refused.needed, 'other person')}, "
        f"and was approved by {found}.{reasons} Nothing is written. "
        "Approve it with 'trueup approve PLAN --key FILE', then apply it."
    )


def _cause(reason: Reason | None) -> str:
    """What is behind it, if that is known."""
    return f": {in_words(reason)}" if reason else ""


def _no_ghost(refused: ghosts.NoGhost) -> str:
    """Why a domain is not to be removed. Of a deleted instance, no verdict says that."""
    if refused.deleted:
        return f"no hypervisor that answered has domain {refused.domain} of its deleted instance"
    why = "; ".join(map(in_words, refused.verdicts)) or _NO_DOMAIN
    whose = "does not belong to an instance that is known to be deleted"
    return f"domain {refused.domain} {whose}: {why}"


def _its_run(stale: plan.PlanStale) -> str:
    """What an earlier run of a plan has written that is too old now."""
    if not stale.run:
        return ""
    written = f"Its run {stale.run} has {stale.in_place} of {counted(stale.steps, 'step')} in place"
    return f"{written}; to take it back: {complete(f'trueup undo {stale.run}')}. "


def _proxy(error: cloud.Unreachable) -> str:
    """Of a proxy that does not answer: how it got into the way."""
    names = ("https_proxy", "http_proxy", "all_proxy", "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
    named = " and ".join(name for name in names if os.environ.get(name))
    return (
        f"the proxy on the way to {error.source} does not answer: {error.reason}. "
        f"{named or 'The environment'} names it: unset that, or add the host of the service to "
        "no_proxy, then try again."
    )


# What is wrong and what to do, by the cause of a silence.
_SILENT: dict[cloud.Cause, Callable[[cloud.Unreachable], str]] = {
    cloud.Cause.UNKNOWN: lambda e: (
        f"{e.source} does not answer: {e.reason}. "
        "Check its address and that it runs, then try again."
    ),
    cloud.Cause.LOGIN: lambda e: (
        f"{e.source} refuses the login: {e.reason}. "
        "Check the user, the password and the name of the database in its connection URL."
    ),
    cloud.Cause.RIGHTS: lambda e: (
        f"{e.source} cannot be read: {e.reason}. The account may have no right to read it: grant "
        "SELECT as packaging/watch/grants-*.sql does, then try again."
    ),
    cloud.Cause.TLS: lambda e: (
        f"no encrypted connection to {e.source}: {e.reason}. Check that its address begins with "
        "the right scheme, and name the authority that signed its certificate (cafile in "
        "nova.conf, OS_CACERT, or ssl_ca in a database URL)."
    ),
    cloud.Cause.PROXY: _proxy,
}

# Error type → exit code, and its sentence: what is wrong, and what to do.
_WORDS: dict[type[Exception], tuple[ExitCode, Callable[[Any], str]]] = {
    ModuleNotFoundError: (ExitCode.USAGE, how_to_install),
    outcomes.NotAgreed: (ExitCode.USAGE, lambda e: "nothing is written."),
    sinks.SinkInvalid: (ExitCode.USAGE, lambda e: f"{e.text}: {e.reason}."),
    options.OptionRefused: (ExitCode.USAGE, lambda e: f"{e.option}: {e.reason}."),
    rebuild.EvidenceIncomplete: (
        ExitCode.INCOMPLETE,
        lambda e: (
            f"{in_words(e.gap)}: its data would be missing in the new ledger. "
            "Nothing is written. Make sure that every source answers, then try again."
        ),
    ),
    rebuild.LedgerFaulty: (
        ExitCode.INCOMPLETE,
        lambda e: (
            f"the old ledger has rows that would be missing in the new one: "
            f"{'; '.join(e.faults[:5])}{'; and others' if len(e.faults) > 5 else ''}. Nothing is "
            "written. Stop Placement, take a backup of its database, run "
            "'trueup-manage db fsck --repair', which says what it changes, then try again."
        ),
    ),
    rebuild.TargetNotEmpty: (
        ExitCode.USAGE,
        lambda e: (
            f"the new database holds another ledger, with {e.providers} providers and "
            f"{e.consumers} consumers. Nothing is written. Name an empty database with --into."
        ),
    ),
    rebuild.TargetForeign: (
        ExitCode.USAGE,
        lambda e: (
            f"the new database has tables of another program or release: {', '.join(e.tables[:5])}"
            f"{' and others' if len(e.tables) > 5 else ''}. "
            "Nothing is written. Name an empty database with --into, or drop the tables that a "
            "killed rebuild left."
        ),
    ),
    rebuild.NotAsWritten: (
        ExitCode.SOME_REFUSED,
        lambda e: (
            "the new database was filled, and has changed since: another program writes to it. "
            "Do not cut over; stop that program, and fill another new database."
        ),
    ),
    ghosts.NoGhost: (
        ExitCode.USAGE,
        lambda e: (
            f"{_no_ghost(e)}. "
            "Nothing is written. 'trueup ghosts --all' lists every domain that was read."
        ),
    ),
    cloud.Unreachable: (
        ExitCode.INCOMPLETE,
        lambda e: _SILENT.get(e.cause, _SILENT[cloud.Cause.UNKNOWN])(e),
    ),
    cloud.LoginRefused: (
        ExitCode.INCOMPLETE,
        lambda e: (
            f"Keystone refuses the account for {e.source}: {e.reason}. Check its user name, "
            "password, project and domains in nova.conf, clouds.yaml or the OS_* environment."
        ),
    ),
    cloud.AccessDenied: (
        ExitCode.INCOMPLETE,
        lambda e: (
            f"{e.source} refuses our credentials: {e.reason}. "
            f"An account with the {e.role} role"
            f"{' (or the service role)' if e.role == 'admin' else ''} is needed."
        ),
    ),
    cloud.LedgersDiffer: (
        ExitCode.INCOMPLETE,
        lambda e: (
            f"the database {e.database} is not the one that Placement at {e.api} serves, or lags "
            f"behind it: they show provider {e.provider} in two states. Nothing is judged. Name "
            "the database of that service, or none: the ledger is then read over the API."
        ),
    ),
    cloud.MicroversionTooOld: (
        ExitCode.INCOMPLETE,
        lambda e: (
            f"Placement speaks microversions up to {e.newest}, {e.needed} is needed "
            "to write safely. Upgrade it to Rocky or later."
        ),
    ),
    cloud.NotOne: (
        ExitCode.USAGE,
        lambda e: (
            f"{e.source} has {e.count or 'no'} {e.kind}{'s' if e.count > 1 else ''} "
            f"with the name or id '{e.name}'. Give the id of one."
        ),
    ),
    cloud.SettingMissing: (
        ExitCode.USAGE,
        lambda e: (
            f"{e.path} has no option '{e.option}' in [{e.section}]. "
            + (f"Its section [{e.near}] may be misspelt. " if e.near else "")
            + _name_a_file(e.project)
        ),
    ),
    cloud.SettingsUnreadable: (
        ExitCode.USAGE,
        lambda e: f"{e.path} cannot be used: {e.reason}. {_name_a_file(e.project)}",
    ),
    cloud.LoginUnusable: (
        ExitCode.USAGE,
        lambda e: (
            f"the {e.login} cannot be used: {e.reason}. "
            "Name a cloud of clouds.yaml with --os-cloud, or set the variables OS_*."
        ),
    ),
    cloud.DatabaseUnusable: (
        ExitCode.USAGE,
        lambda e: (
            f"{e.source} cannot be opened: {e.reason}. "
            "Correct the connection URL, or install its driver (extras 'mysql', 'postgresql')."
        ),
    ),
    acknowledgement_file.AcknowledgementsUnreadable: (
        ExitCode.USAGE,
        lambda e: (
            f"{e.path} cannot be used: {e.reason}. Each [[acknowledged]] has a kind (host-gone, "
            "foreign-owner, lagging-replica, finding, port-provider), a name, a reason and a date "
            "'until'."
        ),
    ),
    muting.FindingUnknown: (
        ExitCode.USAGE,
        lambda e: (
            f"finding '{e.finding}' is muted until {e.muted_until}. To mute it for longer, change "
            "the date in the file of acknowledgements."
            if e.muted_until
            else f"there is no finding '{e.finding}' now, and nothing is muted. "
            "Name one by its defect and its subject, as DEFECT:SUBJECT."
        ),
    ),
    files.FileUnreadable: (
        ExitCode.USAGE,
        lambda e: f"{e.path} cannot be used: {e.reason}. Make one with '{_MADE_BY[e.kind]}'.",
    ),
    files.FileUnwritable: (
        ExitCode.USAGE,
        lambda e: (
            f"{e.path} cannot be written: {e.reason}. "
            "Name a file in a folder that you can write to."
        ),
    ),
    audit.IntervalInvalid: (
        ExitCode.USAGE,
        lambda e: (
            f"an interval of {e.seconds:g} s observes the same moment twice. "
            "Name a number of seconds above 0 with --interval."
        ),
    ),
    audit.FirstObservationMissing: (
        ExitCode.USAGE,
        lambda e: (
            f"a snapshot is one observation, and a plan needs another that is {e.seconds:g} s "
            "older. Save one with 'trueup audit --save FILE', and name it with --first."
        ),
    ),
    audit.ObservedTooSoon: (
        ExitCode.USAGE,
        lambda e: (
            f"the second observation was made {e.apart.total_seconds():.0f} s after the first, "
            f"and must be {e.interval.total_seconds():g} s later. "
            "Name an older one with --first, or a shorter time with --interval."
        ),
    ),
    watch.WatchedAlready: (
        ExitCode.USAGE,
        lambda e: (
            f"another 'trueup watch' uses {e.folder}. Stop that one, or name another folder with "
            "--state-dir."
        ),
    ),
    watch.FolderUnusable: (
        ExitCode.USAGE,
        lambda e: (
            f"{e.folder} cannot be used: {e.reason}. "
            "Name a folder that you can write to with --state-dir."
        ),
    ),
    web.AddressUnusable: (
        ExitCode.USAGE,
        lambda e: (
            f"nothing can be served at {e.address}: {e.reason}. Name a free port of this machine "
            "with --listen."
        ),
    ),
    story_subjects.SubjectAmbiguous: (
        ExitCode.USAGE,
        lambda e: (
            f"{len(e.candidates)} {e.kind}s have the name '{e.name}'. Name one by its uuid:\n  "
            + "\n  ".join(e.candidates)
        ),
    ),
    selection.SelectionUnknown: (
        ExitCode.USAGE,
        lambda e: (
            f"neither Nova nor Placement has the {e.kind} '{e.name}'. {_near(e.near, e.kind)}"
        ),
    ),
    selection.SelectionUnread: (
        ExitCode.INCOMPLETE,
        lambda e: (
            f"nothing that was read has the {e.kind} '{e.name}', and {in_words(e.gap)}. "
            "Make that answer, then try again; or check the spelling."
        ),
    ),
    selection.SelectionEmpty: (
        ExitCode.USAGE,
        lambda e: (
            "the selection matches no instance, consumer or provider: nothing is judged. Check the "
            "id of the project; several selectors together select what all of them select."
        ),
    ),
    plan_file.PlanFormatUnknown: (
        ExitCode.USAGE,
        lambda e: (
            f"{e.path} is a plan of format {e.found}, made by another version of Trueup; this "
            f"version reads format {e.known}. Make a new one with 'trueup plan --out FILE'."
        ),
    ),
    plan_file.PlanEdited: (
        ExitCode.USAGE,
        lambda e: (
            f"{e.path} was changed after it was made, and nothing of it is applied. "
            "Make a new one with 'trueup plan --out FILE'."
        ),
    ),
    plan.PlanStale: (
        ExitCode.USAGE,
        lambda e: (
            f"the plan is stale: it was made at {e.made_at:%Y-%m-%d %H:%M} UTC, "
            f"and may not be older than {e.age_max.total_seconds() / 3600:g} h. {_its_run(e)}"
            "Make a new one with 'trueup plan --out FILE', or raise --max-age."
        ),
    ),
    ledger_copy.LedgerNotEmpty: (
        ExitCode.USAGE,
        lambda e: (
            f"Placement is not empty: it has {e.providers} providers and {e.consumers} consumers. "
            "Nothing is written. Name an empty Placement."
        ),
    ),
    ledger_copy.CopyRefused: (
        ExitCode.SOME_REFUSED,
        lambda e: (
            f"Placement refused {e.part}: {in_words(e.reason)}. Everything before it is written. "
            "Correct the cause and import the same file again, which continues there."
        ),
    ),
    ledger_copy.AmountBelowOne: (
        ExitCode.USAGE,
        lambda e: (
            f"the file cannot be written: consumer {e.consumer} holds "
            f"{e.resource_class}={e.amount} of {e.provider}, and Placement takes no amount "
            "below 1. Nothing is written. "
            "Repair the ledger it was exported from, then export it again."
        ),
    ),
    ledger_copy.CopyDiffers: (
        ExitCode.SOME_REFUSED,
        lambda e: (
            "everything is written, but Placement now differs from the file: another service "
            "writes to it. Stop that service, empty this Placement, and import again."
        ),
    ),
    rehearse.LedgerNotRehearsable: (
        ExitCode.INCOMPLETE,
        lambda e: (
            f"the ledger cannot be copied for a rehearsal: an empty Placement refuses {e.part}: "
            f"{e.reason} Nothing is rehearsed. Read the plan with 'trueup plan show'."
        ),
    ),
    plan.PlanForeign: (ExitCode.USAGE, _of_another_cloud),
    plan.LimitExceeded: (
        ExitCode.LIMIT_EXCEEDED,
        lambda e: (
            f"the plan touches {e.subjects} subjects, and the limit is {e.limit}. "
            f"Read the plan again, then raise the limit with --limit {e.subjects}."
        ),
    ),
    journals.RunUnknown: (
        ExitCode.USAGE,
        lambda e: (
            f"there is no run '{e.run}' in {e.folder}. "
            "List the runs with 'trueup journal', or name the folder with --state-dir."
        ),
    ),
    journals.RunBusy: (
        ExitCode.USAGE,
        lambda e: f"run '{e.run}' is being applied by another process. Wait for it to end.",
    ),
    journals.JournalUnreadable: (
        ExitCode.USAGE,
        lambda e: f"{e.path} cannot be read: {e.reason}. Use the account that wrote it.",
    ),
    verification.UndoNotVerified: (
        ExitCode.USAGE,
        lambda e: (
            f"run {e.run} took run {e.undoes} back, and repaired nothing. Name a run "
            "that repaired something: 'trueup journal' lists the runs."
        ),
    ),
    undo.UndoOpen: (
        ExitCode.SOME_REFUSED,
        lambda e: f"run {e.run} may still take back step {e.step}. Try again in two minutes.",
    ),
    keygen.KeygenFailed: (
        ExitCode.USAGE,
        lambda e: (
            f"ssh-keygen: {e.reason}. Nothing is written. Trueup needs ssh-keygen of OpenSSH "
            "(package openssh-client), and a key that can be read."
        ),
    ),
    approvals.NotApproved: (ExitCode.USAGE, _not_approved),
    approvals.ApprovalFileUnreadable: (
        ExitCode.USAGE,
        lambda e: (
            f"the file {e.path} cannot be read: {e.reason}. It is '{e.option}' in [approval] of "
            "the policy, or its default, and who may approve is not known without it. Nothing is "
            "written. Make that file, or name another one."
        ),
    ),
    rulings.StepForbidden: (
        ExitCode.USAGE,
        lambda e: (
            f"{e.ruling.rule} of the policy {e.ruling.policy} never permits step {e.step}"
            f"{_cause(e.ruling.passed_over)}. Nothing is written. "
            "Make a new plan, which leaves it out; 'trueup policy show PLAN' says more."
        ),
    ),
    rulings.WritesClosed: (
        ExitCode.USAGE,
        lambda e: (
            f"the policy {e.policy} is closed: {in_words(e.reason)}. Nothing more is written. "
            "Apply the same plan again when it is open, or make a new plan then."
        ),
    ),
    automatic.NotAutomatic: (
        ExitCode.USAGE,
        lambda e: (
            f"nothing may be repaired without a person: {in_words(e.reason)}. Leave out --repair, "
            "or write a policy that permits it, with a table [automatic]."
        ),
    ),
    outcomes.PolicyAsks: (
        ExitCode.USAGE,
        lambda e: (
            f"{e.rule} of the policy {e.policy} asks a person, and nobody can be "
            f"asked here{_cause(e.passed_over)}. Nothing is written. "
            "Apply the plan at a terminal, without --yes."
        ),
    ),
    policy_file.PolicyInvalid: (
        ExitCode.USAGE,
        lambda e: (
            f"the policy {e.path} cannot be used: {e.reason}. Nothing is written. "
            f"{'Make' if e.missing else 'Correct'} it, then check it with "
            f"'trueup policy check {e.path}'."
        ),
    ),
    journal.JournalDamaged: (
        ExitCode.USAGE,
        lambda e: (
            f"line {e.line} of {e.path} is damaged: {e.reason}. Nothing is written. "
            "Restore the file from a backup, or move it away and make a new plan."
        ),
    ),
    journal.JournalFormatUnknown: (
        ExitCode.USAGE,
        lambda e: (
            f"{e.path} is a journal of format {e.found}, and this version of Trueup reads format "
            f"{e.known}. Undo that run with the version that wrote it."
        ),
    ),
    undo.StepUnknown: (
        ExitCode.USAGE,
        lambda e: (
            f"step '{e.step}' of run {e.run} is not in place. "
            f"List its steps with 'trueup journal {e.run}'."
        ),
    ),
    journal.JournalUnwritable: (
        ExitCode.USAGE,
        lambda e: (
            f"the journal cannot be written to {e.folder}: {e.reason}. Nothing more is written "
            "to the cloud. Make room there, or name another folder with --state-dir."
        ),
    ),
}


def explained(error: Exception) -> tuple[ExitCode, str] | None:
    """The exit code and the sentence for an error; None for one that nobody foresaw."""
    entry = _WORDS.get(type(error))
    if entry is None:
        return None
    code, words = entry
    # A reason that is a sentence of its own brings a full stop along.
    return code, words(error).replace(".. ", ". ")


def unforeseen(error: Exception) -> str:
    """The sentence for an error that nobody foresaw."""
    words = " ".join(str(error).split())
    return (
        f"an error inside Trueup: {type(error).__name__}: {words}. "
        "Run it again with --debug before the command, and report what it says."
    )
