"""
How long the event loop was busy with one thing: a beat that comes late says so.
"""

from __future__ import annotations

import asyncio
import time

from prometheus_client import Histogram

BEAT_SECONDS = 0.025


async def watch_loop(gaps: Histogram) -> None:
    """
    Observe, until cancelled, by how much each beat is late.
    """
    while True:
        due = time.perf_counter() + BEAT_SECONDS
        await asyncio.sleep(BEAT_SECONDS)
        gaps.observe(max(time.perf_counter() - due, 0.0))
