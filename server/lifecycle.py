"""
Start, be ready, drain, stop.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable

from prometheus_client import start_http_server

from server.binding import require_free
from server.bootstrap import LIVENESS, Service, build
from server.collecting import settle, watch_cycles
from server.logs import make_logger
from server.loop_gaps import watch_loop
from server.readiness import SERVING
from server.settings import Settings
from server.start_warnings import warn_of

SWITCH_SECONDS = 0.0005
"""How long a thread keeps the interpreter while another waits for it: requests are made of many
short steps, and at 5 ms, the default, each of them can wait so long."""


async def serve(
    settings: Settings,
    *,
    ready: Callable[[Service, int], None] | None = None,
    stop: asyncio.Event | None = None,
) -> None:
    """
    Serve until SIGTERM, SIGINT, SIGHUP or the event: then not ready, finish what is in flight, end.

    Args:
        settings: The configuration.
        ready: Told the running service and its metrics port once it answers.
        stop: Ends the service when set.
    """
    logger = make_logger(settings.log_level)
    warn_of(settings, os.environ, logger)
    stopping = stop or asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _stop_signals():
        loop.add_signal_handler(number, stopping.set)
    service = build(settings, logger)
    require_free(settings.host, settings.metrics_port, "metrics_port")
    sys.setswitchinterval(SWITCH_SECONDS)
    settle()
    scraped, thread = start_http_server(
        settings.metrics_port, addr=settings.host, registry=service.metrics.registry
    )
    await service.health.set(LIVENESS, SERVING)
    await service.health_server.start()
    await service.server.start()
    await service.readiness.start()
    watches = (
        service.access.watch(),
        service.denials.watch(),
        service.index_watch.watch(),
        service.attached_watch.watch(),
        watch_loop(service.metrics.loop_gaps),
        watch_cycles(lambda: service.admission.running > 0),
    )
    watching = [asyncio.create_task(one) for one in watches]
    logger.info(
        "serving",
        port=service.port,
        health_port=service.health_port,
        metrics_port=scraped.server_port,
    )
    if ready is not None:
        ready(service, scraped.server_port)
    try:
        await stopping.wait()
    finally:
        for task in watching:
            task.cancel()
        logger.info("draining", seconds=settings.drain_seconds)
        await service.health.enter_graceful_shutdown()
        # A call that arrives in the very moment of the stop is lost: none should be on its way.
        await asyncio.sleep(settings.drain_delay_seconds)
        await service.server.stop(settings.drain_seconds)
        await service.health_server.stop(0)
        service.denials.report()
        await service.backend.close()
        if not await asyncio.to_thread(service.traces.close):
            logger.warning("the last traces could not be sent in time")
        scraped.shutdown()
        scraped.server_close()
        thread.join()
        logger.info("stopped")


def _stop_signals() -> list[signal.Signals]:
    hangs_up = signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN  # as under nohup
    return [signal.SIGTERM, signal.SIGINT, *([signal.SIGHUP] if hangs_up else [])]
