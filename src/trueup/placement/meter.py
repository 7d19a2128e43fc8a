# SPDX-License-Identifier: Apache-2.0
"""The events that the service reports for metrics. A `Meter` ignores all of them.

The layers below the API know only this class, not the library of the metrics. They report rare
events, so a service without metrics loses no time.
"""


class Meter:
    """Ignores all events. All methods may be called from several threads."""

    def request_begins(self) -> None:
        """This thread begins a request."""

    def request_answered(self, method: str, route: str, status: str, seconds: float) -> None:
        """This thread has answered its request. `route` is a template, or empty."""

    def statement_sent(self) -> None:
        """This thread sends an SQL statement."""

    def connections_open(self, count: int, most: int | None) -> None:
        """This process now has `count` connections to the database, and may open `most`."""

    def transaction_restarted(self, reason: str) -> None:
        """A transaction starts again. `reason` is one of a few words."""

    def transaction_given_up(self) -> None:
        """A transaction met other writers in every attempt, and is refused."""

    def view_read(self, kind: str, seconds: float) -> None:
        """The view of the ledger was read: `load`, `refresh` or `comparison`."""

    def view_shows(self, providers: int, skipped_rows: int) -> None:
        """The view of this process now has so many providers and skipped rows."""

    def foreign_writes_found(self) -> None:
        """A comparison found writes of another service in the same database."""

    def view_damaged(self) -> None:
        """A comparison found that the view was wrong where no service has written."""

    def candidates_found(self, count: int, limited_by: str | None) -> None:
        """A search ended. `limited_by` names the limit that the answer reached."""

    def candidates_lacking(self, reason: str) -> None:
        """A search found nothing. `reason` is one of a few words."""


IGNORED = Meter()
"""For services without metrics."""
