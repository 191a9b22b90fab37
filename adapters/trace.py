"""
The W3C trace context of the call in work, which dependencies are told.
"""

from __future__ import annotations

from contextvars import ContextVar

TRACEPARENT: ContextVar[str] = ContextVar("traceparent", default="")
"""The `traceparent` of the present call; "" where it brought none."""
