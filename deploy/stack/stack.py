"""
Two replicas before a Qdrant, Envoy, and Prometheus with Alertmanager where they are installed, on
this machine.

`make stack` starts it, sends load through Envoy until it is ended, and says where to look.
`python deploy/stack/stack.py --check` restarts replicas under load, cuts Qdrant and brings it back,
and takes all pods away; it fails when a request failed that should not have, or when an alert was
not heard. `--embedded` takes the engine inside the replicas in place of a Qdrant.
"""

from __future__ import annotations

import argparse
import re
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from callers import INDEX, QUESTIONS, Load, asking
from check import check
from contextassembler.client import ContextAssemblerCallError, ContextAssemblerClient
from processes import HERE, Processes, free_ports, wait_for
from qdrant import Qdrant
from webhook import Webhook, say

from adapters.tokenizer_files import install_tokenizers
from server.settings import Settings

ROOT = HERE.parent.parent
RULES = ROOT / "deploy" / "components" / "monitoring" / "rules.yaml"
FASTER = 60
"""Rules are tried with minutes as seconds."""

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def faster_rules() -> str:
    """
    Return the rules with every duration divided, at least a second and as many as two scrapes.
    """

    def shorter(found: re.Match[str]) -> str:
        seconds = int(found[1]) * _SECONDS[found[2]] // FASTER
        return f"{max(seconds, 3)}s"

    text = RULES.read_text()
    text = re.sub(r"(?<=\[)(\d+)([smhd])(?=\])", shorter, text)
    text = re.sub(r"(?<=offset )(\d+)([smhd])", shorter, text)
    return re.sub(r"(?<=for: )(\d+)([smhd])", shorter, text)


class Stack:
    """
    The processes and their ports.
    """

    def __init__(self, work: Path, picture: Path | None, *, is_embedded: bool = False) -> None:
        self.work = work
        self.picture = picture
        self.qdrant = None if is_embedded else Qdrant()
        self.processes = Processes(work, self.qdrant.url if self.qdrant else None)
        names = ("ENVOY", "ENVOY_ADMIN", "PROMETHEUS", "ALERTMANAGER", "WEBHOOK")
        names += tuple(f"{kind}_{n}" for kind in ("PORT", "HEALTH", "METRICS") for n in (0, 1))
        self.ports = dict(zip(names, free_ports(len(names)), strict=True))
        self.webhook = Webhook(self.ports["WEBHOOK"])
        self.has_prometheus = bool(shutil.which("prometheus"))

    def start(self) -> None:
        """
        Index the example and start everything.
        """
        say("indexing the example handbook")
        install_tokenizers(Settings().tokenizer_dir)
        self.processes.run(
            "index",
            "index",
            "--index",
            INDEX,
            str(ROOT / "examples" / INDEX),
            "--sources",
            str(ROOT / "examples" / "handbook-sources.jsonl"),
        )
        for number in (0, 1):
            self.start_replica(number)
        self.processes.start(
            "envoy",
            "envoy",
            "--log-level",
            "warn",
            "--concurrency",
            "1",
            "-c",
            self.processes.config("envoy.yaml", self.ports),
        )
        wait_for(self._asks_through_envoy, "Envoy")
        if self.has_prometheus:
            (self.work / "rules.yaml").write_text(faster_rules())
            self.processes.start(
                "prometheus",
                "prometheus",
                f"--config.file={self.processes.config('prometheus.yaml', self.ports)}",
                f"--storage.tsdb.path={self.work / 'tsdb'}",
                "--log.level=warn",
                f"--web.listen-address=127.0.0.1:{self.ports['PROMETHEUS']}",
            )
            self.processes.start(
                "alertmanager",
                "prometheus-alertmanager",
                f"--config.file={self.processes.config('alertmanager.yaml', self.ports)}",
                f"--storage.path={self.work / 'alerts'}",
                "--cluster.listen-address=",
                f"--web.listen-address=127.0.0.1:{self.ports['ALERTMANAGER']}",
            )

    def end(self) -> None:
        """
        End everything.
        """
        self.processes.end_all()
        if self.qdrant is not None:
            self.qdrant.end()

    def start_replica(self, number: int) -> None:
        """
        Start one replica.
        """
        self.processes.start_replica(number, self.ports)
        say(f"replica {number} answers at 127.0.0.1:{self.ports[f'PORT_{number}']}")

    def _asks_through_envoy(self) -> bool:
        with ContextAssemblerClient(self.address, timeout_seconds=5) as client:
            try:
                return bool(client.assemble_context(asking(QUESTIONS[0])).context)
            except ContextAssemblerCallError:
                return False

    @property
    def address(self) -> str:
        """
        Return where Envoy takes calls.
        """
        return f"127.0.0.1:{self.ports['ENVOY']}"

    def tell(self) -> None:
        """
        Say where to look.
        """
        say(f"ask at {self.address} (index {INDEX}, principal staff)")
        if self.qdrant is not None:
            say(f"Qdrant's protocol, by the test server: {self.qdrant.url}")
        say(f"Envoy's clusters: http://127.0.0.1:{self.ports['ENVOY_ADMIN']}/clusters")
        if self.has_prometheus:
            say(f"Prometheus: http://127.0.0.1:{self.ports['PROMETHEUS']}/graph")
            say(f"Alertmanager: http://127.0.0.1:{self.ports['ALERTMANAGER']}")
        else:
            say(
                "no Prometheus on the PATH (Debian: apt install prometheus prometheus-alertmanager)"
            )


def main() -> int:
    """
    Run the command and return its exit code.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="restart, cut, and end")
    parser.add_argument("--embedded", action="store_true", help="the engine inside the replicas")
    parser.add_argument("--picture", type=Path, help="with --check: draw the dashboard, .png")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with tempfile.TemporaryDirectory(prefix="context-assembler-stack-") as folder:
        stack = Stack(Path(folder), options.picture, is_embedded=options.embedded)
        try:
            stack.start()
            stack.tell()
            if options.check:
                wrong = check(stack)
                for one in wrong:
                    say(f"WRONG: {one}")
                return 1 if wrong else 0
            load = Load(stack.address)
            load.start()
            try:
                signal.pause()
            finally:
                load.end()
        except KeyboardInterrupt:
            return 0
        finally:
            stack.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
