"""
Hits and misses of the caches, told when they are scraped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

CacheRequests: TypeAlias = "Callable[[], tuple[int, int]]"
"""Returns the hits and the misses of a cache since its start."""


class CacheCollector(Collector):
    """
    `context_assembler_cache_requests_total`, by cache and result.
    """

    def __init__(self, caches: Mapping[str, CacheRequests]) -> None:
        self._caches = dict(caches)

    def collect(self) -> Iterator[Metric]:
        """
        Yield the family.
        """
        family = CounterMetricFamily(
            "context_assembler_cache_requests",
            "Look-ups in the caches.",
            labels=("cache", "result"),
        )
        for name, requests in self._caches.items():
            hits, misses = requests()
            family.add_metric((name, "hit"), hits)
            family.add_metric((name, "miss"), misses)
        yield family
