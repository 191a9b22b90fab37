"""
Which heads this pod reads, and how old they are: told to the metrics every half minute.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from adapters.records import Retention
from adapters.retention import kept_revisions, seconds_of
from adapters.store import IndexListing
from assembler.errors import ContextAssemblerError
from server.backend import Listings
from server.index_metrics import IndexMetrics

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

WATCH_SECONDS = 30.0
MOST_INDEXES = 100
"""Indexes that are shown, the first by name: a label has a bounded number of values."""


class IndexWatch:
    """
    Shows one tenant's heads as this pod reads them; docs/decisions/0062 says why one.
    """

    def __init__(
        self,
        heads: Listings,
        tenant: str,
        retention: Retention,
        metrics: IndexMetrics,
        logger: FilteringBoundLogger,
        now: Callable[[], float] = time.time,
    ) -> None:
        """
        Show nothing yet.

        Args:
            heads: Lists the tenant's indexes; ledgers may lack their rows.
            tenant: Whose heads; it is no label.
            retention: What `indexes gc` keeps.
            metrics: Where they are shown.
            logger: Told when they cannot be read.
            now: Seconds since the Unix epoch.
        """
        self._heads = heads
        self._tenant = tenant
        self._retention = retention
        self._metrics = metrics
        self._logger = logger
        self._now = now
        self._shown: set[str] = set()

    async def look(self) -> None:
        """
        Read the heads and show them; what was shown stays where they cannot be read.
        """
        try:
            found = await self._heads(self._tenant)
        except (ContextAssemblerError, OSError) as error:
            self._logger.warning("heads cannot be read", problem=str(error))
            return
        shown = sorted(found, key=lambda one: one.name)[:MOST_INDEXES]
        names = {one.name for one in shown}
        for name in self._shown - names:
            self._metrics.forget(name)
        self._shown = names
        for one in shown:
            self._show(one)

    async def watch(self) -> None:
        """
        Go on looking until cancelled.
        """
        while True:
            await self.look()
            await asyncio.sleep(WATCH_SECONDS)

    def _show(self, listing: IndexListing) -> None:
        ledger = listing.ledger
        kept = kept_revisions(ledger, self._retention, self._now())
        published = [seconds_of(one) for one in ledger.revisions if one.revision == ledger.revision]
        self._metrics.show(
            listing.name,
            revision=ledger.revision,
            published_at=published[-1] if published else 0.0,
            uncollected=len(ledger.revisions) - len(kept),
        )
