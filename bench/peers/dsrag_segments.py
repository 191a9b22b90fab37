"""
dsRAG: the segments of highest value (relevant segment extraction), by its own functions.

Its chunker and its segment selection are the library's; its language models (semantic sections,
contextual headers) and its remote reranker stay out, as every peer here does without one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assembler.span import Span
from bench.peers.items import CANDIDATES, Builder, Embedding, Item, Retrieve
from bench.peers.libraries import library
from bench.peers.places import Places
from evaluation.question_set import Document

CHUNK_CHARS = 800
FLAT_RELEVANCE = 0.8
"""What dsRAG takes for every chunk where a model's similarities are not to be relied on."""


def segments(preset: str, chunk_chars: int = CHUNK_CHARS, *, by_rank: bool = True) -> Builder:
    """
    Return the best segments under one of dsRAG's presets.

    Args:
        preset: A name in `RSE_PARAMS_PRESETS`.
        chunk_chars: The size of a chunk.
        by_rank: Value chunks by rank alone, as `NoReranker(ignore_absolute_relevance=True)` does;
            else by cosine similarity too, whose values the presets are not made for.
    """

    def build(documents: Sequence[Document], embed: Embedding) -> Retrieve:
        extraction = library("dsrag.rse")
        chunks = [one for document in documents for one in _chunks(document, chunk_chars)]
        by_document: dict[str, list[Mapping[str, Any]]] = {}
        for one in chunks:
            by_document.setdefault(one["doc_id"], []).append(one)
        matrix = np.asarray(embed.documents([one["chunk_text"] for one in chunks]))
        settings = extraction.RSE_PARAMS_PRESETS[preset]

        def retrieve(question: str, limit: int = CANDIDATES) -> list[Item]:
            scores = matrix @ np.asarray(embed.query(question))
            ranked = [
                {
                    "metadata": chunks[number],
                    "similarity": FLAT_RELEVANCE if by_rank else float(scores[number]),
                }
                for number in np.argsort(-scores, kind="stable")[:limit]
            ]
            return [
                _item(doc_id, by_document[doc_id][first:last])
                for doc_id, first, last in _best(extraction, ranked, settings)
            ]

        return retrieve

    return build


def _best(
    extraction: Any, ranked: Sequence[Any], settings: Mapping[str, Any]
) -> list[tuple[str, int, int]]:
    """
    Return document, first chunk and the chunk after the last of each segment, the best first.
    """
    splits, starts, doc_ids = extraction.get_meta_document(
        [ranked], settings["top_k_for_document_selection"]
    )
    values = extraction.get_relevance_values(
        [ranked],
        splits[-1],
        starts,
        doc_ids,
        settings["irrelevant_chunk_penalty"],
        settings["decay_rate"],
        settings["chunk_length_adjustment"],
    )
    found, _ = extraction.get_best_segments(
        values,
        splits,
        settings["max_length"],
        settings["overall_max_length"],
        settings["minimum_value"],
    )
    best = []
    for first, last in found:
        document = next(number for number, split in enumerate(splits) if first < split)
        begins = splits[document - 1] if document else 0
        best.append((doc_ids[document], first - begins, last - begins))
    return best


def _chunks(document: Document, chunk_chars: int) -> list[Mapping[str, Any]]:
    chunker = library("dsrag.dsparse.sectioning_and_chunking.chunking")
    lines = [{"content": line, "is_visual": False} for line in document.text.split("\n")]
    section = {"start": 0, "end": len(lines) - 1}
    made = chunker.chunk_document([section], lines, chunk_chars, 2 * chunk_chars)
    texts = [one["content"] for one in made]
    spans = Places(document.text).find_all(texts)
    return [
        {"doc_id": document.doc_id, "chunk_index": number, "chunk_text": text, "span": span}
        for number, (text, span) in enumerate(zip(texts, spans, strict=True))
    ]


def _item(doc_id: str, parts: Sequence[Mapping[str, Any]]) -> Item:
    spans = [one["span"] for one in parts if one["span"] is not None]
    whole = Span(spans[0].start, max(span.end for span in spans)) if spans else None
    return Item(doc_id, whole, "\n".join(one["chunk_text"] for one in parts))
