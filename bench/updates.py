"""
`python -m bench.updates`: what a change costs in indexes of several sizes, and what of a real set
is embedded again after a change.

The indexes are made of random words and derived vectors, straight through the store: what is
measured is everything but the embedding.
"""

from __future__ import annotations

import hashlib
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from adapters.edge_store import EdgeStore
from adapters.qdrant_connection import QdrantServer
from adapters.qdrant_store import QdrantStore
from adapters.store import EmbeddingSpec, IndexStore
from assembler.ports import ModelIdentity, Vector
from bench.big_index import Model, add_filler
from bench.command import silent, write_json
from bench.options import WORK, Out, Work
from bench.reindex import changed_set
from evaluation.question_set import read_set
from indexer.cut_source import cut_source
from indexer.index import run_index
from indexer.request import IndexRequest, Summary
from indexer.sources import SourceFile

INDEX = "updates"
DIMENSION = 384
SOURCE_WORDS = 2200
"""Words of a source: about 20 chunks."""

SEED = 11
WORD = re.compile(r"\S+")


class DerivedEmbedder:
    """
    A `DocumentEmbedder` whose vectors cost nothing and say nothing.
    """

    spec = EmbeddingSpec(
        ModelIdentity("derived", "0" * 64, DIMENSION), "1", 256, "mean", "", "", normalised=True
    )

    def count(self, text: str) -> int:
        """
        Return the words.
        """
        return len(WORD.findall(text)) + 2

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """
        Return where words stand.
        """
        return [match.span() for match in WORD.finditer(text)]

    def embed_documents(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> list[Vector]:
        """
        Return one random vector of length 1 per text.
        """
        del progress
        vectors: list[Vector] = []
        for text in texts:
            seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
            values = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
            vectors.append((values / np.linalg.norm(values)).tolist())
        return vectors

    def embed_spans(
        self, text: str, spans: Sequence[tuple[int, int]], overlap: int
    ) -> list[Vector]:
        """
        Return one vector of length 1 per range, of its text alone.
        """
        del overlap
        return self.embed_documents([text[start:end] for start, end in spans])


@dataclass(frozen=True, slots=True)
class Cost:
    """
    What changes cost at one size.

    Attributes:
        chunks: Of the index.
        seconds: By how many sources were changed at once.
        cpu_seconds: Of this process (the embedded engine is in it).
        rollback: Seconds of a rollback.
        disk_bytes: What the index takes on the disk; 0 on a server.
    """

    backend: str
    chunks: int
    seconds: dict[int, float]
    cpu_seconds: dict[int, float]
    rollback: float
    disk_bytes: int

    @property
    def per_source(self) -> float:
        """
        Return the seconds that one more changed source costs.
        """
        few, many = min(self.seconds), max(self.seconds)
        return (self.seconds[many] - self.seconds[few]) / (many - few)


def main(
    chunks: Annotated[
        list[int] | None, typer.Option(help="Sizes of the indexes; repeatable.")
    ] = None,
    qdrant_url: Annotated[
        str | None, typer.Option(help="http://host:port of gRPC; without it, the embedded engine.")
    ] = None,
    changed: Annotated[int, typer.Option(min=2, help="Sources changed together.")] = 20,
    rounds: Annotated[int, typer.Option(min=1, help="The least of so many is shown.")] = 3,
    folder: Annotated[
        Path | None, typer.Option("--data", help="Folder of the sets' folders.")
    ] = None,
    name: Annotated[str, typer.Option("--set", help="The real set.")] = "nodejs_versions",
    work: Work = WORK,
    out: Out = None,
) -> None:
    """
    Measure updates.
    """
    console, figures = Console(width=120), dict[str, object]()
    costs = [_cost(size, qdrant_url, changed, rounds, console) for size in chunks or ()]
    if costs:
        console.print(_table(costs))
        figures["costs"] = [asdict(one) | {"per_source": one.per_source} for one in costs]
    if folder is not None:
        figures["set"] = changed_set(read_set(folder / name, None), work, console)
    write_json(out, figures, indent=1)


def _cost(size: int, qdrant_url: str | None, changed: int, rounds: int, console: Console) -> Cost:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        docs = place / "docs"
        docs.mkdir()
        with _store(qdrant_url, place / "data") as store:
            found = _filled(store, docs, size, changed)
            console.print(f"{found} chunks are there")
            times = {count: _change(store, docs, count, rounds) for count in (1, changed)}
            started = time.perf_counter()
            with store.upkeep(INDEX, "") as upkeep:
                upkeep.roll_back(None, at=time.time())
            rollback = time.perf_counter() - started
        files = (place / "data").rglob("*") if qdrant_url is None else ()
        used = sum(path.stat().st_blocks * 512 for path in files)
        return Cost(
            backend="qdrant" if qdrant_url else "embedded",
            chunks=found,
            seconds={count: wall for count, (wall, _) in times.items()},
            cpu_seconds={count: cpu for count, (_, cpu) in times.items()},
            rollback=rollback,
            disk_bytes=used,
        )


@contextmanager
def _store(url: str | None, data_dir: Path) -> Iterator[IndexStore]:
    if url is None:
        yield EdgeStore(data_dir)
        return
    parts = urlsplit(url)
    server = QdrantServer(parts.hostname or "", grpc_port=parts.port or 6334)
    store = QdrantStore(server, settle_seconds=0.0)
    yield store
    store.close()


def _filled(store: IndexStore, docs: Path, size: int, changed: int) -> int:
    """
    Publish the sources that are to be changed, then filler until there are so many chunks.
    """
    draw, embedder = random.Random(SEED), DerivedEmbedder()  # noqa: S311 - no secrets
    for number in range(changed):
        (docs / f"mine-{number:03}.txt").write_text(_text(draw))
    _index(store, docs)
    return add_filler(store, INDEX, [_model(draw, embedder) for _ in range(50)], size, silent)


def _model(draw: random.Random, embedder: DerivedEmbedder) -> Model:
    """
    Return a cut source for filler to be made of.
    """
    text = _text(draw)
    cut = cut_source(
        SourceFile(Path("filler"), "filler", "text/plain"),
        text,
        tenant="",
        language="en",
        fields={},
        revision=1,
        is_active=True,
        embedder=embedder,
    )
    vectors = embedder.embed_documents([draft.embedding_input for draft in cut.drafts])
    return Model(cut, tuple(vectors), tuple(text.splitlines()))


def _change(store: IndexStore, docs: Path, count: int, rounds: int) -> tuple[float, float]:
    """
    Return the least seconds of an update after so many sources were changed, and the least of this
    process's own: what other processes take is not ours.
    """
    each = [_change_once(store, docs, count, number) for number in range(rounds)]
    return min(wall for wall, _ in each), min(cpu for _, cpu in each)


def _change_once(store: IndexStore, docs: Path, count: int, number: int) -> tuple[float, float]:
    for path in sorted(docs.glob("mine-*.txt"))[:count]:
        path.write_text(f"{path.read_text()}Sentence {number} for {count}.\n")
    started, begun = time.perf_counter(), time.process_time()
    summary = _index(store, docs)
    assert summary.written == count, summary  # noqa: S101 - else something else was measured
    return time.perf_counter() - started, time.process_time() - begun


def _index(store: IndexStore, docs: Path) -> Summary:
    request = IndexRequest(INDEX, (docs,), source_set="mine", language="en")
    return run_index(request, store, DerivedEmbedder(), silent)


def _text(draw: random.Random) -> str:
    sentences = (
        " ".join(f"w{int(draw.paretovariate(0.7)) % 50_000}" for _ in range(20)) + ".\n"
        for _ in range(SOURCE_WORDS // 20)
    )
    return "".join(sentences)


def _table(costs: Sequence[Cost]) -> Table:
    counts = sorted(costs[0].seconds)
    columns = (f"{count} changed, s (CPU)" for count in counts)
    table = Table("backend", "chunks", *columns, "per source, ms", "rollback, s", "on disk, MB")
    for one in costs:
        table.add_row(
            one.backend,
            str(one.chunks),
            *(f"{one.seconds[count]:.2f} ({one.cpu_seconds[count]:.2f})" for count in counts),
            f"{1000 * one.per_source:.0f}",
            f"{one.rollback:.2f}",
            f"{one.disk_bytes / 1e6:.0f}",
        )
    return table


if __name__ == "__main__":
    typer.run(main)
