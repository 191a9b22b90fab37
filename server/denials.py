"""
Points that came back from an index and were dropped by the check after the read.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from server.metrics import Metrics

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

REPORT_SECONDS = 1.0


class Denials:
    """
    Tells metrics and log what was dropped, at most once a second: an index that is wrong is wrong
    at every read.
    """

    def __init__(
        self,
        dropped: Mapping[tuple[str, str], int],
        metrics: Metrics,
        logger: FilteringBoundLogger,
    ) -> None:
        """
        Start counting from here.

        Args:
            dropped: Points so far, by index and reason; kept up to date by the reading side.
            metrics: Counts by reason; an index is never a label.
            logger: Names the index; never a source, a tenant or a text.
        """
        self._dropped = dropped
        self._metrics = metrics
        self._logger = logger
        self._reported: Counter[tuple[str, str]] = Counter()

    def report(self) -> None:
        """
        Report what was dropped since the last time.
        """
        new = Counter(dict(self._dropped)) - self._reported
        for (index, reason), points in sorted(new.items()):
            self._metrics.denied.labels(reason).inc(points)
            self._logger.warning(
                "points dropped by the check after the read",
                index=index,
                reason=reason,
                points=points,
            )
        self._reported += new

    async def watch(self) -> None:
        """
        Go on reporting until cancelled.
        """
        while True:
            await asyncio.sleep(REPORT_SECONDS)
            self.report()
