"""
What is done to an index beside publishing: rolled back, collected, purged.
"""

from __future__ import annotations

from typing import Protocol

from adapters.records import Collected, Purged, Retention, TenantLedger
from assembler.scope import IndexVersion


class Upkeep(Protocol):
    """
    What else is done to one tenant's part, under its writer lock; each call is complete in itself.
    """

    @property
    def ledger(self) -> TenantLedger:
        """
        Return the state before the call.
        """
        ...

    def roll_back(
        self, revision: int | None, *, at: float, head: int | None = None
    ) -> IndexVersion:
        """
        Move the head back to a kept revision (None: the one before the head) in one write, and
        return the version that is served then.

        With the revision or the expected head named, it may be asked again: what is done already
        is not done twice.

        Args:
            revision: Its number.
            at: Now, in seconds since the Unix epoch.
            head: The revision that the head is expected at; None for any.

        Raises:
            InvalidRequest: There is no such revision to go back to, or the head is not where it is
                expected.
        """
        ...

    def collect(self, retention: Retention, *, at: float) -> Collected:
        """
        Delete what no kept revision sees; a build that waits is discarded.
        """
        ...

    def purge(self, source_id: str, *, at: float) -> Purged:
        """
        Remove a source from every revision and generation, and keep it out from now on.

        Raises:
            SourceUnknown: The ledger knows no such source.
        """
        ...

    def lift_purge(self, source_id: str) -> None:
        """
        Allow a purged source to be indexed again.

        Raises:
            SourceUnknown: It is not purged.
        """
        ...
