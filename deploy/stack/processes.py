"""
The stack's processes: started with their logs in files, waited for, ended.
"""

from __future__ import annotations

import os
import socket
import string
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

HERE = Path(__file__).resolve().parent
WAIT_SECONDS = 90.0
END_SECONDS = 60.0


def free_ports(count: int) -> list[int]:
    """
    Return so many loopback ports that nobody listens on.
    """
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def wait_for(is_there: Callable[[], bool], what: str, *, fails: bool = True) -> bool:
    """
    Return once it is there; False, or an error, when it takes too long.
    """
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        if is_there():
            return True
        time.sleep(0.2)
    if fails:
        raise RuntimeError(f"{what} did not come up; see the logs")
    return False


class Processes:
    """
    Processes by name.
    """

    def __init__(self, work: Path, qdrant_url: str | None = None) -> None:
        """
        Start with none.

        Args:
            work: Folder of logs and data.
            qdrant_url: What the product's processes read and write; None for the embedded engine.
        """
        self._work = work
        self._qdrant_url = qdrant_url
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def config(self, name: str, values: Mapping[str, int]) -> str:
        """
        Write a configuration with its ports filled in, and return its path.
        """
        path = self._work / name
        path.write_text(string.Template((HERE / name).read_text()).substitute(values))
        return str(path)

    def run(self, name: str, *arguments: str) -> None:
        """
        Run a command of the product to its end.
        """
        log = self._work / f"{name}.log"
        with log.open("wb") as out:
            done = subprocess.run(
                [sys.executable, "-m", "cli", *arguments],
                env=self._environment({}),
                stdout=out,
                stderr=out,
                check=False,
            )
        if done.returncode:
            raise RuntimeError(f"{name} failed:\n{log.read_text()}")

    def start(self, name: str, command: str, *arguments: str) -> None:
        """
        Start a program that is on the PATH.
        """
        beside = Path(sys.executable).parent / command
        program = str(beside) if beside.exists() else command
        with (self._work / f"{name}.log").open("ab") as out:
            self._running[name] = subprocess.Popen(
                [program, *arguments], stdout=out, stderr=out, cwd=self._work
            )

    def start_replica(self, number: int, ports: Mapping[str, int]) -> None:
        """
        Start a replica, and wait until it says that it serves.
        """
        health = ports[f"HEALTH_{number}"]
        settings = {
            "HOST": "127.0.0.1",
            "PORT": ports[f"PORT_{number}"],
            "HEALTH_PORT": health,
            "METRICS_PORT": ports[f"METRICS_{number}"],
            "LOG_LEVEL": "WARNING",
            "DRAIN_DELAY_SECONDS": 2.5,  # Envoy asks every second
        }
        with (self._work / f"replica-{number}.log").open("ab") as out:
            self._running[f"replica-{number}"] = subprocess.Popen(
                [sys.executable, "-m", "cli", "serve"],
                env=self._environment(settings),
                stdout=out,
                stderr=out,
            )
        wait_for(lambda: _serves(health), f"replica {number}")

    def end(self, name: str) -> None:
        """
        Ask a process to end, and wait until it has.
        """
        process = self._running.pop(name, None)
        if process is not None:
            process.terminate()
            process.wait(END_SECONDS)

    def end_all(self) -> None:
        """
        End all of them.
        """
        for name in list(self._running):
            self.end(name)

    def _environment(self, settings: Mapping[str, object]) -> dict[str, str]:
        place: dict[str, object] = {"DATA_DIR": self._work / "data"}
        if self._qdrant_url is not None:
            place = {"QDRANT_URL": self._qdrant_url}
        chosen = {**place, **settings}
        return {
            **os.environ,
            **{f"CONTEXT_ASSEMBLER_{name}": str(value) for name, value in chosen.items()},
        }


def _serves(port: int) -> bool:
    asked = health_pb2.HealthCheckRequest(service="contextassembler.v1.ContextAssemblerService")
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        try:
            reply = health_pb2_grpc.HealthStub(channel).Check(asked, timeout=1)
        except grpc.RpcError:
            return False
    return reply.status == health_pb2.HealthCheckResponse.SERVING
