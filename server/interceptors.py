"""
What happens around every call: who calls, admission, request id, deadline, errors, metrics, and one
log line.
"""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.message import DecodeError

from adapters.deadline import DEADLINE
from adapters.head import LONGEST_REQUEST_SECONDS
from adapters.trace import TRACEPARENT
from assembler.errors import DeadlineExceeded, Overloaded, RequestUndecodable
from server.access import CALLER, Access
from server.admission import Admission
from server.metrics import Metrics
from server.settings import Settings
from server.status import status_of
from server.traces import CallSpan, Traces

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

REQUEST_ID = "x-request-id"
STATUS_DETAILS = "grpc-status-details-bin"
UNCOUNTED = ("/grpc.health.v1.Health/", "/grpc.reflection.")
_GOOD_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_TRACEPARENT = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_CODES = {code.value[0]: code for code in grpc.StatusCode}

Call = Any
"""A `grpc.aio.ServicerContext`, whose type arguments say nothing here."""


class CallInterceptor(grpc.aio.ServerInterceptor):
    """
    Wraps every unary call of our service; health and reflection pass through.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        access: Access,
        admission: Admission,
        metrics: Metrics,
        traces: Traces,
        logger: FilteringBoundLogger,
    ) -> None:
        self._settings = settings
        self._access = access
        self._admission = admission
        self._metrics = metrics
        self._traces = traces
        self._logger = logger

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """
        Return the method's handler, wrapped.
        """
        handler = await continuation(handler_call_details)
        name = handler_call_details.method
        if handler is None or not handler.unary_unary or name.startswith(UNCOUNTED):
            return handler
        service, method = name.lstrip("/").split("/", 1)

        async def answer(raw: bytes, context: Call) -> Any:
            TRACEPARENT.set(_traceparent(context))
            with self._traces.call(service, method) as span:
                return await self._answer(handler, raw, context, service, method, span)

        return grpc.unary_unary_rpc_method_handler(
            answer, request_deserializer=None, response_serializer=handler.response_serializer
        )

    async def _answer(
        self, handler: Any, raw: bytes, context: Call, service: str, method: str, span: CallSpan
    ) -> Any:
        started = time.perf_counter()
        request_id = _request_id(context)
        labels = ("unary", service, method)
        self._metrics.started.labels(*labels).inc()
        code = grpc.StatusCode.OK
        error: BaseException | None = None
        caller = ""
        try:
            known = self._access.caller_of(context.invocation_metadata(), context.auth_context())
            CALLER.set(known)
            caller = known.name
            reply = await self._admitted(handler, raw, context, request_id)
            context.set_trailing_metadata(((REQUEST_ID, request_id),))
        except asyncio.CancelledError:
            code = grpc.StatusCode.CANCELLED
            raise
        except Exception as caught:  # noqa: BLE001 - every error becomes a status, bugs as INTERNAL
            error = caught
            status = status_of(caught)
            code = _CODES[status.code]
            if code is grpc.StatusCode.INVALID_ARGUMENT:
                self._metrics.rejected.labels("invalid").inc()
        else:
            return reply
        finally:
            seconds = time.perf_counter() - started
            self._metrics.handled.labels(*labels, code.name).inc()
            self._metrics.handling.labels(*labels).observe(seconds)
            span.ended(code)
            self._log(method, request_id, caller, code, seconds, error)
        trailers = ((STATUS_DETAILS, status.SerializeToString()), (REQUEST_ID, request_id))
        await context.abort(code, status.message, trailers)
        return None

    async def _admitted(self, handler: Any, raw: bytes, context: Call, request_id: str) -> Any:
        left = context.time_remaining()
        asked = self._settings.default_deadline_seconds if left is None else left
        deadline = min(asked, LONGEST_REQUEST_SECONDS)
        if deadline <= 0:
            self._metrics.rejected.labels("deadline_too_short").inc()
            raise DeadlineExceeded("the deadline had passed on arrival")
        DEADLINE.set(time.monotonic() + deadline)
        request = _decoded(handler, raw)
        if self._settings.log_texts and getattr(request, "queries", []):
            texts = [query.text for query in request.queries]
            self._logger.info("call asks", request_id=request_id, queries=texts)
        arrived, is_placed = time.perf_counter(), False
        try:
            async with (
                asyncio.timeout(deadline),
                self._admission.place(tenant_of(request), deadline),
            ):
                is_placed = True
                self._metrics.waited("admission", time.perf_counter() - arrived)
                self._show_load()
                return await handler.unary_unary(request, context)
        except TimeoutError:
            raise DeadlineExceeded(f"not ready within {deadline:.3f} seconds") from None
        except (Overloaded, DeadlineExceeded) as error:
            if not is_placed:
                is_late = isinstance(error, DeadlineExceeded)
                self._metrics.rejected.labels("deadline_too_short" if is_late else "overload").inc()
            raise
        finally:
            self._show_load()

    def _show_load(self) -> None:
        self._metrics.inflight.set(self._admission.running)
        self._metrics.queue_length.labels("admission").set(self._admission.waiting)

    def _log(
        self,
        method: str,
        request_id: str,
        caller: str,
        code: grpc.StatusCode,
        seconds: float,
        error: BaseException | None,
    ) -> None:
        facts: dict[str, Any] = {
            "method": method,
            "request_id": request_id,
            "caller": caller,
            "code": code.name,
            "seconds": round(seconds, 6),
        }
        if TRACEPARENT.get():
            facts["traceparent"] = TRACEPARENT.get()
        if code is grpc.StatusCode.INTERNAL:
            self._logger.error("call failed by a bug", exc_info=error, **facts)
        elif error is not None:
            self._logger.info("call refused", error=type(error).__name__, **facts)
        else:
            self._logger.info("call answered", **facts)


def tenant_of(request: Any) -> str:
    """
    Return the tenant in whose line a call waits: the first that it names, or the empty one.
    """
    scoped = request.targets[0] if getattr(request, "targets", None) else request
    scope = getattr(scoped, "scope", scoped)
    return str(getattr(scope, "tenant", ""))


def _decoded(handler: Any, raw: bytes) -> Any:
    try:
        return handler.request_deserializer(raw)
    except (DecodeError, ValueError) as error:
        raise RequestUndecodable(
            "the bytes are not a message of this method; generate stubs from the protos"
        ) from error


def _traceparent(context: Call) -> str:
    for key, value in context.invocation_metadata() or ():
        if key == "traceparent" and isinstance(value, str) and _TRACEPARENT.fullmatch(value):
            return value
    return ""


def _request_id(context: Call) -> str:
    for key, value in context.invocation_metadata() or ():
        if key == REQUEST_ID and isinstance(value, str) and _GOOD_ID.fullmatch(value):
            return value
    return uuid.uuid4().hex
