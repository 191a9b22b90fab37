"""
Collections as other libraries write them, for tests of reading them.

The payloads have the form of what LangChain's and LlamaIndex's `QdrantVectorStore` write (a test
holds them against `tests/library_payloads.py`), with the splitters' habits: chunks overlap, and
white space around them is stripped.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qdrant_client import QdrantClient
from qdrant_client.http import models as rest

from adapters.embedder import OnnxEmbedder
from tests.qdrant_server.server import TestServer

CHUNK_CHARS, OVERLAP_CHARS = 300, 60
_NAMESPACE = uuid.UUID("9b0c3c39-2a63-4f43-8d6f-3b9a2c6f0f11")


@dataclass(frozen=True)
class Piece:
    """
    A chunk of a document, stripped, with where it begins.
    """

    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def pieces_of(text: str) -> Iterator[Piece]:
    """
    Yield overlapping chunks that begin and end at white space.
    """
    start = 0
    while start < len(text):
        end = min(start + CHUNK_CHARS, len(text))
        while end < len(text) and not text[end].isspace():
            end += 1
        own = text[start:end]
        stripped = own.strip()
        if stripped:
            yield Piece(start + own.index(stripped), stripped)
        if end == len(text):
            return
        start = end - OVERLAP_CHARS
        while not text[start].isspace():
            start += 1


def id_of(*parts: object) -> str:
    """
    Return a point's id.
    """
    return str(uuid.uuid5(_NAMESPACE, repr(parts)))


def langchain_payload(piece: Piece, source: str, **metadata: object) -> dict[str, Any]:
    """
    Return what LangChain writes for a document of a splitter with `add_start_index`.
    """
    return {
        "page_content": piece.text,
        "metadata": {"source": source, "start_index": piece.start, **metadata},
    }


def llamaindex_payload(
    piece: Piece, source: str, node_id: str, **metadata: object
) -> dict[str, Any]:
    """
    Return what LlamaIndex writes for a node of a sentence splitter.
    """
    about = {"file_name": source, **metadata}
    related = {
        "node_id": source,
        "node_type": "4",
        "metadata": about,
        "hash": f"hash of {source}",
        "class_name": "RelatedNodeInfo",
    }
    node = {
        "id_": node_id,
        "embedding": None,
        "metadata": about,
        "excluded_embed_metadata_keys": ["file_name"],
        "excluded_llm_metadata_keys": ["file_name"],
        "relationships": {"1": related},
        "metadata_template": "{key}: {value}",
        "metadata_separator": "\n",
        "text": piece.text,
        "mimetype": "text/plain",
        "start_char_idx": piece.start,
        "end_char_idx": piece.end,
        "text_template": "{metadata_str}\n\n{content}",
        "class_name": "TextNode",
    }
    return {
        **about,
        "_node_content": json.dumps(node),
        "_node_type": "TextNode",
        "document_id": source,
        "doc_id": source,
        "ref_doc_id": source,
    }


class Writer:
    """
    Writes collections as those libraries do, by the client library.
    """

    def __init__(self, server: TestServer, embedder: OnnxEmbedder) -> None:
        self.server = server
        self.client = QdrantClient(
            host="127.0.0.1", grpc_port=server.port, prefer_grpc=True, check_compatibility=False
        )
        self._embedder = embedder
        self._made: dict[str, list[float]] = {}

    def close(self) -> None:
        self.client.close()

    def create(self, name: str, *, vector: str = "", indexes: Mapping[str, str] = {}) -> None:
        params = rest.VectorParams(
            size=self._embedder.identity.dimension, distance=rest.Distance.COSINE
        )
        self.client.create_collection(name, {vector: params} if vector else params)
        for path, kind in indexes.items():
            self.client.create_payload_index(name, path, rest.PayloadSchemaType(kind))

    def write(
        self,
        name: str,
        texts: Sequence[str],
        payloads: Sequence[dict[str, Any]],
        ids: Sequence[str | int],
        *,
        vector: str = "",
    ) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in self._made]
        vectors = self._embedder.embed_documents([text[:800] for text in new])
        self._made |= {text: list(one) for text, one in zip(new, vectors, strict=True)}
        points = [
            rest.PointStruct(
                id=one,
                payload=payload,
                vector={vector: self._made[text]} if vector else self._made[text],
            )
            for one, payload, text in zip(ids, payloads, texts, strict=True)
        ]
        self.client.upsert(name, points, wait=True)
