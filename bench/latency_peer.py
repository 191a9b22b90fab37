"""
LangChain's ParentDocumentRetriever over the same embedded engine and the same exported model, in a
process of its own: what `bench.latency --peers` sets beside the service.

It does less: vectors alone, no scope, no budget, no counting, no citations; its parents are in
memory. `python -m bench.latency_peer` reads what to do from standard input and prints the seconds
of each question as JSON.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adapters.edge_index import EdgeIndex
from adapters.edge_shard import EdgeShard
from adapters.embedder import OnnxEmbedder
from adapters.payload_keys import KEY, KIND, SECTION_KEY, TEXT
from adapters.searches import DENSE, PointQuery
from assembler.filters import AnyString, Condition, Filter
from assembler.model import PointKind
from bench.corpus import Corpus
from bench.peers.libraries import library, require

LIMIT = 100
"""Children that a search returns, as many as the service's own vector search."""

WARM_UP = 5


def peer_seconds(made: Corpus, questions: Sequence[str], *, model_dir: Path) -> list[float]:
    """
    Return the peer's seconds per question.

    Raises:
        PeerMissing: The dependency group `peers` is not installed.
        RuntimeError: Its process failed.
    """
    require(("langchain_classic", "langchain_core"))
    asked = {
        "data_dir": str(made.data_dir),
        "index": made.index,
        "model_dir": str(model_dir),
        "questions": list(questions),
    }
    command = [sys.executable, "-m", "bench.latency_peer"]
    ended = subprocess.run(  # noqa: S603 - this module
        command, input=json.dumps(asked), capture_output=True, text=True, check=False
    )
    if ended.returncode:
        msg = f"the peer's process failed: {ended.stderr[-2000:]}"
        raise RuntimeError(msg)
    seconds: list[float] = json.loads(ended.stdout)
    return seconds


def _kind(kind: PointKind) -> Filter:
    return Filter(all_of=(Condition(KIND, AnyString((kind.value,))),))


def _retriever(shard: EdgeShard, embedder: OnnxEmbedder) -> Any:
    core = library("langchain_core.documents")
    stores = library("langchain_core.vectorstores")
    memory = library("langchain_classic.storage").InMemoryStore()
    parents = [(str(one[KEY]), str(one[TEXT])) for one in shard.payloads(_kind(PointKind.SECTION))]
    memory.mset([(key, core.Document(page_content=text)) for key, text in parents])
    wanted = _kind(PointKind.CHUNK)

    class Children(stores.VectorStore):  # type: ignore[misc,name-defined] # optional, untyped
        """
        The engine's chunks as LangChain searches them.
        """

        def similarity_search(self, query: str, k: int = LIMIT, **_: Any) -> list[Any]:
            (vector,) = asyncio.run(embedder.embed([query]))
            asked = PointQuery(
                kind=PointKind.CHUNK,
                vector=vector,
                using=DENSE[PointKind.CHUNK],
                wanted=wanted,
                corpus=None,
                is_exact=False,
                limit=k,
                keys=(TEXT, SECTION_KEY),
            )
            return [
                core.Document(
                    page_content=hit.payload[TEXT], metadata={"doc_id": hit.payload[SECTION_KEY]}
                )
                for hit in shard.query([asked])[0]
            ]

        @classmethod
        def from_texts(cls, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    splitter = library("langchain_text_splitters").RecursiveCharacterTextSplitter()
    return library("langchain_classic.retrievers").ParentDocumentRetriever(
        vectorstore=Children(),
        docstore=memory,
        child_splitter=splitter,
        search_kwargs={"k": LIMIT},
    )


def main() -> None:
    """
    Read the questions, ask them, print the seconds.
    """
    asked = json.load(sys.stdin)
    index = EdgeIndex(Path(asked["data_dir"]))
    version = asyncio.run(index.resolve(asked["index"], "")).version
    embedder = OnnxEmbedder(Path(asked["model_dir"]), threads=1)
    seconds = []
    with index._states.reading(asked["index"]) as state:  # noqa: SLF001 - the engine's own calls
        retriever = _retriever(state.shard(version), embedder)
        for question in (*asked["questions"][:WARM_UP], *asked["questions"]):
            began = time.perf_counter()
            found = retriever.invoke(question)
            seconds.append(time.perf_counter() - began)
            if not found:
                raise RuntimeError(question)
    sys.stdout.write(json.dumps(seconds[WARM_UP:]))


if __name__ == "__main__":
    main()
