"""
A service over collections of other makers, filled with the handbook's texts.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

from adapters.attachment import Attachment, add_attached, mapping_of
from adapters.embedder import OnnxEmbedder
from server.settings import Settings
from tests.attached import Writer, id_of, langchain_payload, llamaindex_payload, pieces_of
from tests.edge.in_process import Running, running_service
from tests.qdrant_server.server import TestServer

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"
TEXTS = {
    str(path.relative_to(HANDBOOK)): path.read_text(encoding="utf-8")
    for folder in ("policies", "travel", "support")
    for path in sorted((HANDBOOK / folder).rglob("*.md"))
}
QUESTION = "How long can goods be returned for a refund?"
LANGCHAIN = mapping_of("langchain", tenant="metadata.tenant")
NUMBERED = mapping_of(None, text="body", source="doc", ordinal="n", version="label")


@dataclass
class Attached:
    """
    A service over attached collections.
    """

    running: Running
    server: TestServer
    writer: Writer
    embedder: OnnxEmbedder
    place: Settings

    async def ask(
        self, index: str, question: str = QUESTION, **changed: Any
    ) -> pb.AssembledContext:
        tenant = changed.pop("tenant", "")
        request = service_pb.AssembleContextRequest(
            queries=[service_pb.Query(text=question)],
            targets=[service_pb.Target(index=index, scope=pb.Scope(tenant=tenant))],
            budget=pb.Budget(tokenizer="o200k_base", context_tokens=changed.pop("tokens", 600)),
            fill=pb.FILL_FULL,
            explain=pb.EXPLAIN_LIST,
            **changed,
        )
        reply = await self.running.stub.AssembleContext(request, timeout=60)
        return reply.context


def fill(writer: Writer) -> None:
    """
    Write the collections.
    """
    cut = [(name, piece) for name, text in TEXTS.items() for piece in pieces_of(text)]
    texts = [piece.text for _, piece in cut]
    writer.create("lc", indexes={"metadata.tenant": "keyword", "metadata.source": "keyword"})
    writer.create("li", vector="text-dense", indexes={"doc_id": "keyword"})
    writer.create("bare")
    writer.create("numbered")
    ids = [id_of("lc", name, piece.start) for name, piece in cut]
    writer.write("lc", texts, [langchain_payload(p, n, tenant="") for n, p in cut], ids)
    theirs = [langchain_payload(p, f"other/{n}", tenant="other") for n, p in cut[:40]]
    writer.write("lc", texts[:40], theirs, [id_of("other", one) for one in ids[:40]])
    nodes = [id_of("li", name, piece.start) for name, piece in cut]
    payloads = [llamaindex_payload(p, n, one) for one, (n, p) in zip(nodes, cut, strict=True)]
    writer.write("li", texts, payloads, nodes, vector="text-dense")
    bare = [{"page_content": p.text, "metadata": {"source": n}} for n, p in cut]
    writer.write("bare", texts, bare, list(range(len(cut))))
    counts: Counter[str] = Counter()
    numbered = []
    for name, piece in cut:
        numbered.append({"body": piece.text, "doc": name, "n": counts[name], "label": 3})
        counts[name] += 1
    writer.write("numbered", texts, numbered, [id_of("n", n) for n in range(len(cut))])


@asynccontextmanager
async def attached_service(settings: Settings, path: Path) -> AsyncIterator[Attached]:
    """
    Run a service over the collections, which are attached in a file of this path.
    """
    embedder = OnnxEmbedder(settings.model_dir, threads=1)
    identity = embedder.identity
    known = {"model": identity.name, "model_sha256": identity.sha256}
    mappings = {
        "lc": LANGCHAIN,
        "li": mapping_of("llamaindex"),
        "bare": mapping_of("langchain"),
        "numbered": NUMBERED,
        "gone": LANGCHAIN,
        "foreign": LANGCHAIN,
        "named": mapping_of("langchain", tenant="metadata.tenant", section="metadata.source"),
    }
    for name, mapping in mappings.items():
        made = Attachment(
            collection="lc" if name in ("foreign", "named") else name,
            mapping=mapping,
            dimension=identity.dimension,
            vector="text-dense" if name == "li" else "",
            **({"model": "theirs"} if name == "foreign" else known),
        )
        add_attached(path, name, made)
    with TestServer() as server:
        writer = Writer(server, embedder)
        await asyncio.to_thread(fill, writer)
        server.forget()
        place = settings.model_copy(
            update={"qdrant_url": f"http://127.0.0.1:{server.port}", "attached_file": path}
        )
        async with running_service(place) as running:
            yield Attached(running, server, writer, embedder, place)
        writer.close()
