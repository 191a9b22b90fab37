"""
The service in a process of its own, and a caller that measures it over loopback gRPC.
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import grpc
import psutil
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from contextassembler.v1.context_assembler_service_pb2_grpc import ContextAssemblerServiceStub
from grpc_health.v1 import health_pb2, health_pb2_grpc

READY_SECONDS = 120.0
STOP_SECONDS = 60.0
TOKENIZER = "o200k_base"
MOST_MESSAGE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Served:
    """
    A running service.

    Attributes:
        ready_seconds: From the start of its process to its first answer that it is ready.
    """

    address: str
    metrics_port: int
    process: psutil.Process
    ready_seconds: float

    @property
    def cpu_seconds(self) -> float:
        """
        Return the CPU time that its process has taken so far.
        """
        times = self.process.cpu_times()
        return float(times.user + times.system)

    @property
    def resident_mb(self) -> float:
        """
        Return its resident memory in MB (1e6 bytes).
        """
        return float(self.process.memory_info().rss) / 1e6

    @property
    def mapped_mb(self) -> float:
        """
        Return the part of it that is pages of files, which the system takes back when it has to.
        """
        return float(self.process.memory_info().shared) / 1e6


@dataclass(frozen=True, slots=True)
class Answer:
    """
    One call as the caller saw it.

    Attributes:
        code: Name of the status code.
        tokens: Of the context, as the reply counts them.
        is_wrong: The reply breaks the limit, or passages and context disagree.
        stages: Seconds by stage.
    """

    seconds: float
    code: str
    tokens: int = 0
    context: str = ""
    is_wrong: bool = False
    stages: Mapping[str, float] | None = None


def check_answers(answers: Sequence[Answer]) -> None:
    """
    Refuse to measure what is wrong.

    Raises:
        RuntimeError: A call failed, or a reply is wrong.
    """
    wrong = [one for one in answers if one.code != "OK" or one.is_wrong]
    if wrong:
        msg = f"{len(wrong)} of {len(answers)} answers are wrong, the first: {wrong[0].code}"
        raise RuntimeError(msg)


def stage_ms(answers: Sequence[Answer]) -> dict[str, float]:
    """
    Return median milliseconds by stage; a stage that an answer has not had took no time.
    """
    names = dict.fromkeys(name for one in answers for name in one.stages or {})
    return {
        name: 1000.0 * statistics.median((one.stages or {}).get(name, 0.0) for one in answers)
        for name in names
    }


@contextmanager
def serving(data_dir: Path, settings: Mapping[str, str] | None = None) -> Iterator[Served]:
    """
    Run the service until the block ends.

    Args:
        data_dir: Folder of the embedded indexes.
        settings: Further settings by name, without the prefix.

    Raises:
        RuntimeError: It ended, or was not ready in time.
    """
    names = {name: _free_port() for name in ("PORT", "HEALTH_PORT", "METRICS_PORT")}
    chosen = {"HOST": "127.0.0.1", "DATA_DIR": data_dir, "LOG_LEVEL": "ERROR", **names}
    chosen.update(settings or {})
    environment = {
        **os.environ,
        **{f"CONTEXT_ASSEMBLER_{name}": str(value) for name, value in chosen.items()},
    }
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "cli", "serve"], env=environment)
    try:
        _wait(process, f"127.0.0.1:{chosen['HEALTH_PORT']}")
        yield Served(
            address=f"127.0.0.1:{chosen['PORT']}",
            metrics_port=int(names["METRICS_PORT"]),
            process=psutil.Process(process.pid),
            ready_seconds=time.perf_counter() - began,
        )
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], address: str) -> None:
    until = time.monotonic() + READY_SECONDS
    with grpc.insecure_channel(address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        asked = health_pb2.HealthCheckRequest(service="contextassembler.v1.ContextAssemblerService")
        while True:
            try:
                reply = stub.Check(asked, timeout=1.0)  # type: ignore[attr-defined] # untyped stubs
                if reply.status == health_pb2.HealthCheckResponse.SERVING:
                    return
            except grpc.RpcError:
                pass
            if process.poll() is not None or time.monotonic() > until:
                msg = "the service did not become ready; its output says why"
                raise RuntimeError(msg)
            time.sleep(0.02)


class Caller:
    """
    Calls `AssembleContext` over one connection.
    """

    def __init__(self, address: str, index: str, budget: int) -> None:
        options = [("grpc.max_receive_message_length", MOST_MESSAGE_BYTES)]
        self._channel = grpc.aio.insecure_channel(address, options=options)
        self._stub = ContextAssemblerServiceStub(self._channel)
        self._index = index
        self._budget = budget

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._channel.close()

    async def ask(
        self,
        *questions: str,
        tenant: str = "",
        deadline: float | None = None,
        budget: int | None = None,
        chunk_limit: int | None = None,
        section_limit: int | None = None,
    ) -> Answer:
        """
        Return what one call came to; errors are answers too.

        Args:
            questions: The queries.
            tenant: Whose part of the index is asked.
            deadline: In seconds; None takes the service's own.
            budget: In tokens; None takes the caller's usual one.
            chunk_limit: Candidates per search and query; None takes the service's own.
            section_limit: Most sections read; None takes the profile's.
        """
        limit = budget or self._budget
        request = service_pb.AssembleContextRequest(
            queries=[service_pb.Query(text=question) for question in questions],
            targets=[service_pb.Target(index=self._index, scope=pb.Scope(tenant=tenant))],
            budget=pb.Budget(tokenizer=TOKENIZER, context_tokens=limit),
            fill=pb.FILL_FULL,
            retrieval=pb.Retrieval(chunk_limit=chunk_limit, section_limit=section_limit),
        )
        began = time.perf_counter()
        try:
            reply = (await self._stub.AssembleContext(request, timeout=deadline)).context
        except grpc.aio.AioRpcError as error:
            return Answer(time.perf_counter() - began, error.code().name)
        seconds = time.perf_counter() - began
        tokens = reply.budget.context_tokens
        return Answer(
            seconds,
            "OK",
            tokens,
            reply.context,
            is_wrong=tokens > limit or bool(tokens) != bool(reply.passages),
            stages={
                pb.Stage.Name(one.stage).removeprefix("STAGE_").lower(): (
                    one.duration.seconds + one.duration.nanos / 1e9
                )
                for one in reply.stages
            },
        )
