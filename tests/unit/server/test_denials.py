"""
What the check after the read dropped is counted and logged.
"""

from __future__ import annotations

from collections import Counter

import structlog
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from server.denials import Denials
from server.metrics import Metrics


def test_what_was_dropped_since_the_last_time_is_reported_once() -> None:
    dropped: Counter[tuple[str, str]] = Counter()
    metrics = Metrics(CollectorRegistry(), version="0", methods=[], tokenizers=[], inflight_limit=1)
    denials = Denials(dropped, metrics, structlog.get_logger())

    def counted(reason: str) -> float | None:
        name = "context_assembler_denied_points_total"
        return metrics.registry.get_sample_value(name, {"reason": reason})

    with capture_logs() as logs:
        denials.report()
        dropped.update({("a", "scope"): 2, ("b", "scope"): 1, ("a", "damaged"): 4})
        denials.report()
        denials.report()
        dropped["a", "scope"] += 3
        denials.report()

    assert (counted("scope"), counted("damaged"), counted("key")) == (6, 4, 0)
    assert [(one["index"], one["reason"], one["points"]) for one in logs] == [
        ("a", "damaged", 4),
        ("a", "scope", 2),
        ("b", "scope", 1),
        ("a", "scope", 3),
    ]
    assert {one["log_level"] for one in logs} == {"warning"}
