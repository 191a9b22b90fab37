"""
The metrics of what heads this pod reads.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge

from server.metrics import PREFIX


class IndexMetrics:
    """
    Shows each index's head, for the tenant that is watched.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        """
        Show no index.
        """
        self._revision = Gauge(
            f"{PREFIX}index_revision",
            "Revision of the index that this pod reads, for the tenant that is watched.",
            ("index",),
            registry=registry,
        )
        self._published = Gauge(
            f"{PREFIX}index_published_timestamp_seconds",
            "When that revision was published.",
            ("index",),
            registry=registry,
        )
        self._uncollected = Gauge(
            f"{PREFIX}index_uncollected_revisions",
            "Revisions of the index that are stored and need not be kept any more.",
            ("index",),
            registry=registry,
        )
        self._unusable = Gauge(
            f"{PREFIX}attached_unusable",
            "Attached collections that cannot be read: missing, or not what was attached.",
            registry=registry,
        )

    def show_unusable(self, collections: int) -> None:
        """
        Show how many attached collections cannot be read.
        """
        self._unusable.set(collections)

    def show(self, index: str, *, revision: int, published_at: float, uncollected: int) -> None:
        """
        Show an index's head.

        Args:
            index: Its name.
            revision: What is read.
            published_at: When that was published, in seconds since the Unix epoch.
            uncollected: Revisions that `indexes gc` would remove.
        """
        self._revision.labels(index).set(revision)
        self._published.labels(index).set(published_at)
        self._uncollected.labels(index).set(uncollected)

    def forget(self, index: str) -> None:
        """
        Show an index no more.
        """
        for metric in (self._revision, self._published, self._uncollected):
            metric.remove(index)
