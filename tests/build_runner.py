"""
Runs builds in processes of their own, to be killed; `python -m tests.build_runner ROOT DOCS`.

One process imports everything and forks a run per line of its input, so that ten runs cost one
start. It prints the run's process id; a run prints how many vectors it has made each time that it
reports progress, and at last its summary.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import indexer.write
from adapters.edge_store import EdgeStore
from assembler.ports import Vector
from indexer.index import run_index
from indexer.request import IndexRequest
from tests.fakes import FakeEmbedder

indexer.write.BATCH_CHUNKS = 24
indexer.write.SAVED_TOGETHER = 4


class SlowEmbedder(FakeEmbedder):
    """
    Takes a few milliseconds, and makes vectors that four bytes per value hold exactly.
    """

    made = 0

    def embed_documents(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> list[Vector]:
        time.sleep(0.005)
        self.made += len(texts)
        vectors = super().embed_documents(texts, progress)
        return [[round(value * 4096) / 4096 for value in vector] for vector in vectors]


def say(line: str) -> None:
    """
    Print a line at once.
    """
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def run(root: Path, docs: Path) -> None:
    """
    Index the folder once.
    """
    embedder = SlowEmbedder()

    def show(stage: str, done: int, total: int) -> None:
        del done, total
        if stage == "embedding":
            say(f"made {embedder.made}")

    summary = run_index(IndexRequest("docs", (docs,)), EdgeStore(root), embedder, show)
    say(f"done {summary.embedded}")


def main() -> None:
    """
    Fork a run per line.
    """
    root, docs = Path(sys.argv[1]), Path(sys.argv[2])
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            run(root, docs)
            os._exit(0)
        say(f"pid {child}")
        os.waitpid(child, 0)
        say("ended")


if __name__ == "__main__":
    main()
