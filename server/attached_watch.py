"""
Whether this pod can read the attached collections: looked at from the start on, every half minute.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assembler.errors import ContextAssemblerError
from assembler.ports import Embedder
from server.index_metrics import IndexMetrics

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

    from adapters.attached_looks import AttachedLooks

WATCH_SECONDS = 30.0


class AttachedWatch:
    """
    Tells metric and log which attached collections are not what was attached; requests for them
    are refused, those for others are not.
    """

    def __init__(
        self,
        looks: AttachedLooks | None,
        embedders: Sequence[Embedder],
        metrics: IndexMetrics,
        logger: FilteringBoundLogger,
    ) -> None:
        """
        Know of none.

        Args:
            looks: How they are looked at; None where none are attached.
            embedders: The service's models, which texts are embedded by again.
            metrics: Told how many cannot be read.
            logger: Names the index and its problem when it has another one.
        """
        self._looks = looks
        self._embedders = embedders
        self._logger = logger
        self._problems: dict[str, str] = {}
        self._metrics = metrics

    async def look(self) -> None:
        """
        Look at each; one that cannot be asked just now is what it was.
        """
        looks = self._looks
        if looks is None:
            return
        for name in looks.names:
            try:
                problem = await looks.compare(name, self._embedders)
            except ContextAssemblerError as error:
                self._logger.warning(
                    "attached collection cannot be looked at", index=name, problem=str(error)
                )
                continue
            self._tell(name, problem)
            self._metrics.show_unusable(len(self._problems))

    async def watch(self) -> None:
        """
        Go on looking until cancelled.
        """
        while True:
            await self.look()
            await asyncio.sleep(WATCH_SECONDS)

    def _tell(self, name: str, problem: str | None) -> None:
        known = self._problems.pop(name, None)
        if problem is not None:
            self._problems[name] = problem
            if problem != known:
                self._logger.error(
                    "attached collection cannot be read", index=name, problem=problem
                )
        elif known is not None:
            self._logger.info("attached collection can be read again", index=name)
