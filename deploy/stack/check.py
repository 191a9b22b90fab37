"""
What is tried on the stack: replicas restarted under load, Qdrant cut and back, all pods gone.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import grpc
from callers import QUESTIONS, Load, asking
from contextassembler.client import ContextAssemblerCallError, ContextAssemblerClient
from contextassembler.v1.context_assembler_service_pb2_grpc import ContextAssemblerServiceStub
from panels import empty_panels
from processes import wait_for
from webhook import say

if TYPE_CHECKING:
    from stack import Stack

CUT_ALERTS = ("ContextAssemblerIndexNotAnswering", "ContextAssemblerDependencyErrors")
ABSENT = "ContextAssemblerAbsent"
FAST_SECONDS = 1.0
"""A call that Qdrant cannot serve ends far sooner than its deadline, also on a busy machine."""

REFUSED_CALLS = 50


def check(stack: Stack) -> list[str]:
    """
    Return what went wrong.
    """
    wrong = restarts(stack)
    if stack.qdrant is not None:
        wrong += cut(stack)
    if stack.has_prometheus:
        wrong += absence(stack)
    return wrong


def restarts(stack: Stack) -> list[str]:
    """
    Restart one replica after the other under load: nothing fails, and every panel has data.
    """
    load, wrong = Load(stack.address), []
    load.start()
    time.sleep(3)
    for number in (0, 1):
        say(f"restarting replica {number} under load")
        stack.processes.end(f"replica-{number}")
        time.sleep(2)
        stack.start_replica(number)
        time.sleep(2)
    if stack.has_prometheus:
        empty = empty_panels(
            stack.ports["PROMETHEUS"], stack.picture, has_qdrant=stack.qdrant is not None
        )
        say(f"panels of the dashboard without data: {', '.join(empty) or 'none'}")
        wrong += [f"the panel {name!r} is empty" for name in empty]
    load.end()
    say(f"{load.answered} answered, {len(load.failed)} failed over two restarts")
    wrong += load.failed[:3]
    if not load.answered:
        wrong.append("nothing was answered")
    return wrong


def cut(stack: Stack) -> list[str]:
    """
    Cut Qdrant under load and bring it back: refused at once, told, and served again.
    """
    assert stack.qdrant is not None  # noqa: S101 - told by the caller
    load, wrong = Load(stack.address), []
    load.start()
    stack.webhook.heard.clear()
    say("cutting Qdrant")
    stack.qdrant.cut()
    if stack.has_prometheus:
        wrong += _unheard(stack, "firing", CUT_ALERTS)
    for number in (0, 1):
        wrong += _refusals(stack, number)
    say("Qdrant is back")
    stack.qdrant.mend()
    began = time.monotonic()
    for number in (0, 1):
        address = f"127.0.0.1:{stack.ports[f'PORT_{number}']}"
        if wait_for(lambda at=address: _answers(at), f"replica {number}", fails=False):
            seconds = time.monotonic() - began
            say(f"replica {number} answers again after {seconds:.1f} s, without a restart")
        else:
            wrong.append(f"replica {number} did not come back")
    if stack.has_prometheus:
        wrong += _unheard(stack, "resolved", CUT_ALERTS)
    load.end()
    if load.answered < 1:
        wrong.append("nothing was answered after the cut")
    say(f"{load.answered} answered and {len(load.failed)} refused over the cut")
    return wrong


def absence(stack: Stack) -> list[str]:
    """
    End both replicas, and start them again.
    """
    stack.webhook.heard.clear()  # Prometheus may have started before the first scrape
    say("ending both replicas")
    for number in (0, 1):
        stack.processes.end(f"replica-{number}")
    wrong = _unheard(stack, "firing", (ABSENT,))
    for number in (0, 1):
        stack.start_replica(number)
    return wrong + _unheard(stack, "resolved", (ABSENT,))


def _refusals(stack: Stack, number: int) -> list[str]:
    """
    Ask one replica, with Qdrant away: every call is UNAVAILABLE, in a moment.
    """
    seconds, codes = [], set()
    address = f"127.0.0.1:{stack.ports[f'PORT_{number}']}"
    # the product's own client would ask again
    with grpc.insecure_channel(address, options=[("grpc.enable_retries", 0)]) as channel:
        stub = ContextAssemblerServiceStub(channel)
        for _ in range(REFUSED_CALLS):
            began = time.perf_counter()
            try:
                stub.AssembleContext(asking(QUESTIONS[0]), timeout=30)
                codes.add("OK")
            except grpc.RpcError as error:
                codes.add(error.code().name)
            seconds.append(time.perf_counter() - began)
    median = sorted(seconds)[REFUSED_CALLS // 2]
    say(
        f"replica {number}: {REFUSED_CALLS} calls were {', '.join(sorted(codes))}, "
        f"{1000 * median:.0f} ms in the middle"
    )
    wrong = [] if codes == {"UNAVAILABLE"} else [f"calls were {codes}, with Qdrant cut"]
    return wrong if median < FAST_SECONDS else [*wrong, f"refused after {median:.1f} s"]


def _answers(address: str) -> bool:
    with ContextAssemblerClient(address, timeout_seconds=5) as client:
        try:
            return bool(client.assemble_context(asking(QUESTIONS[0])).context)
        except ContextAssemblerCallError:
            return False


def _unheard(stack: Stack, state: str, names: tuple[str, ...]) -> list[str]:
    """
    Return which alerts the webhook did not hear, each after a good while.
    """
    return [
        f"{name} was not heard {state}"
        for name in names
        if not wait_for(lambda one=name: (one, state) in stack.webhook.heard, name, fails=False)
    ]
