"""
Structured logs: one JSON object per line on standard output.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, TextIO, cast

import structlog

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger


def make_logger(level: str, stream: TextIO | None = None) -> FilteringBoundLogger:
    """
    Return a logger that writes JSON lines with level, time in UTC and event.
    """
    return cast(
        "FilteringBoundLogger",
        structlog.wrap_logger(
            structlog.PrintLogger(stream or sys.stdout),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
                structlog.processors.format_exc_info,
                structlog.processors.JSONRenderer(),
            ],
            wrapper_class=structlog.make_filtering_bound_logger(
                logging.getLevelNamesMapping()[level]
            ),
        ),
    )
