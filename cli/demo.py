"""
`context-assembler demo`: index the example handbook, serve it, ask it, and prove the answers.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer
from contextassembler.client import ContextAssemblerCallError, ContextAssemblerClient
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from rich.console import Console

from adapters.tokenizer_files import install_tokenizers
from assembler.errors import InvalidRequest
from assembler.model import FieldType
from cli.index import index_paths, show_summary
from cli.look import counters
from cli.ports import free_port
from cli.show import show_context
from indexer.request import IndexRequest
from server.settings import Settings

EXAMPLES = Path(__file__).parents[1] / "examples"
INDEX = "handbook"
TOKENIZER = "o200k_base"
READY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Shown:
    """
    A question of the demo and why it is asked.
    """

    text: str
    budget: int
    why: str
    principals: tuple[str, ...] = ("staff",)
    policy: pb.VersionPolicy.ValueType = pb.VERSION_POLICY_ACTIVE


QUESTIONS = (
    Shown(
        "Can a customer return a calibrated sensor?",
        300,
        "the exception stands in a later paragraph",
    ),
    Shown(
        "How many days a week may I work remotely?",
        400,
        "the page has two versions; both are asked for, neither flows into the other",
        policy=pb.VERSION_POLICY_ALL,
    ),
    Shown(
        "What happens when I lose a receipt?",
        200,
        "two pages say it word for word: one text, two sources",
    ),
    Shown("Verfällt mein Urlaub, wenn ich lange krank war?", 250, "German"),
    Shown("What is the band of level L3?", 300, "a page for managers, asked by staff: not found"),
    Shown("What is the band of level L3?", 300, "the same, asked by a manager", ("managers",)),
)


def demo() -> None:
    """
    Index the example handbook, start the service, ask it, and prove each answer.

    Every count is proved by a recount, every slice by the source text itself.
    """
    console = Console()
    if not (EXAMPLES / "handbook").is_dir():
        raise InvalidRequest("demo", "needs the examples folder of the source checkout")
    with tempfile.TemporaryDirectory(prefix="context-assembler-demo-") as folder:
        settings = Settings(data_dir=Path(folder))
        console.rule("1. index")
        install_tokenizers(settings.tokenizer_dir)
        show_summary(console, index_paths(handbook_request(), settings, console))
        console.rule("2. serve")
        with serving(settings) as address:
            console.print(f"the service answers at {address}")
            console.rule("3. ask")
            with ContextAssemblerClient(address) as client:
                is_sound = not [one for one in QUESTIONS if not _ask(console, client, one)]
    if not is_sound:
        console.print("[bold red]a promise was broken[/]")
        raise typer.Exit(1)
    console.rule("done")
    console.print("every count was proved by a recount, every slice by the source text")


def handbook_request() -> IndexRequest:
    """
    Return how the example handbook is indexed.
    """
    return IndexRequest(
        index=INDEX,
        paths=(EXAMPLES / "handbook",),
        sources_file=EXAMPLES / "handbook-sources.jsonl",
        schema={
            "department": FieldType.KEYWORD,
            "year": FieldType.INT64,
            "tags": FieldType.KEYWORD_LIST,
            "reviewed": FieldType.TIMESTAMP,
            "confidential": FieldType.BOOL,
        },
    )


@contextmanager
def serving(settings: Settings) -> Iterator[str]:
    """
    Run the service in a process of its own on free ports; return its address once it answers.
    """
    port, health_port, metrics_port = free_port(), free_port(), free_port()
    environment = {
        **os.environ,
        "CONTEXT_ASSEMBLER_HOST": "127.0.0.1",
        "CONTEXT_ASSEMBLER_PORT": str(port),
        "CONTEXT_ASSEMBLER_HEALTH_PORT": str(health_port),
        "CONTEXT_ASSEMBLER_METRICS_PORT": str(metrics_port),
        "CONTEXT_ASSEMBLER_DATA_DIR": str(settings.data_dir),
        "CONTEXT_ASSEMBLER_LOG_LEVEL": "WARNING",
    }
    process = subprocess.Popen([sys.executable, "-m", "cli", "serve"], env=environment)
    address = f"127.0.0.1:{port}"
    try:
        _wait(address, process)
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + READY_SECONDS
    with ContextAssemblerClient(address, timeout_seconds=1) as client:
        while True:
            try:
                client.tokenizers()
            except ContextAssemblerCallError:
                if process.poll() is not None or time.monotonic() > until:
                    raise
                time.sleep(0.2)
            else:
                return


def _ask(console: Console, client: ContextAssemblerClient, shown: Shown) -> bool:
    console.print(f"\n[bold]{shown.text}[/]  [dim]{shown.why}[/]")
    scope = pb.Scope(principals=pb.Principals(values=shown.principals), version_policy=shown.policy)
    reply = client.assemble_context(
        service_pb.AssembleContextRequest(
            queries=[service_pb.Query(text=shown.text)],
            targets=[service_pb.Target(index=INDEX, scope=scope)],
            budget=pb.Budget(tokenizer=TOKENIZER, context_tokens=shown.budget),
        )
    )
    show_context(console, reply, has_list=False)
    recount = counters().get(TOKENIZER).count(reply.context)
    is_counted = recount == reply.budget.context_tokens <= shown.budget
    spans, wrong = 0, 0
    for passage in reply.passages:
        for source in passage.sources:
            text = client.source_text(
                service_pb.GetSourceTextRequest(
                    index=INDEX,
                    scope=pb.Scope(principals=scope.principals),
                    source_id=source.source_id,
                    version=source.version,
                    content_sha256=source.content_sha256,
                )
            )
            for span in source.spans:
                spans += 1
                here = reply.context[span.context.start : span.context.end]
                wrong += here != text[span.source.start : span.source.end]
    console.print(
        f"proof  recount {recount} {'=' if is_counted else '≠'} reply "
        f"{reply.budget.context_tokens} "
        f"≤ limit {shown.budget}; {spans - wrong} of {spans} spans equal their source text"
    )
    return is_counted and wrong == 0
