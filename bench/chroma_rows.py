"""
Chroma's published rows again: `python -m bench.chroma_rows --data DIR`.

Their splitters with their lengths (tokens of cl100k_base), five chunks a question and
all-MiniLM-L6-v2, on the questions that are here; every published value should lie in the interval
of ours: twelve values, so that intervals that hold for all of them at once are told beside those of
each alone. Where a chunk has more tokens than the model takes, its end is not embedded, as it was
there; how many is told. The product never cuts so.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import tiktoken

from adapters.document_embedder import DocumentEmbedder
from adapters.embedder import OnnxEmbedder
from adapters.tokenizer_files import install_tokenizers, rank_path
from assembler.span import Span
from evaluation.bootstrap import CONFIDENCE, Estimate, mean_of
from evaluation.chunk_measures import ChunkScores
from evaluation.chunk_search import ChunkOf, search_chunks
from evaluation.question_set import Document, QuestionSet, read_set
from evaluation.vector_cache import CachedEmbedder
from indexer.strategies.cluster import best_groups, mean_similarity
from indexer.strategies.recursive import Level, split_recursively
from indexer.windows import Windows
from server.settings import Settings

SIZE = 200
PIECE = 50
SEPARATORS = ("\n\n", "\n", ".", "?", "!", " ")
MEASURES: Mapping[str, Callable[[ChunkScores], float]] = {
    "recall": lambda one: one.recall,
    "precision": lambda one: one.precision,
    "precision_omega": lambda one: one.precision_omega,
    "iou": lambda one: one.iou,
}
CL100K = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
"""Where tiktoken has the file from, after which its cache names it."""

PUBLISHED = {
    "recursive": (75.7, 6.5, 31.2, 6.5),
    "tokens": (76.6, 4.1, 19.1, 4.1),
    "cluster": (75.2, 7.2, 33.6, 7.2),
}
"""In percent, in the order of `MEASURES`; 200 tokens, no overlap."""

TOGETHER = 1.0 - (1.0 - CONFIDENCE) / sum(map(len, PUBLISHED.values()))
"""Of intervals that hold for all values at once (Bonferroni)."""

RESAMPLES = 20_000
"""Enough for the ends of those."""

Splitter: TypeAlias = Callable[[str], list[Span]]


@dataclass(frozen=True, slots=True)
class Row:
    """
    What came of one splitter.

    Attributes:
        cut: Chunks whose end the model did not see.
        found: By measure, with the interval of one value alone.
        together: With intervals that hold for all published values at once.
    """

    name: str
    chunks: int
    cut: int
    found: Mapping[str, Estimate]
    together: Mapping[str, Estimate]

    def outside(self, intervals: Mapping[str, Estimate]) -> list[str]:
        """
        Return the measures whose published value lies outside these intervals.
        """
        published = dict(zip(MEASURES, PUBLISHED[self.name], strict=True))
        return [
            name for name, value in published.items() if intervals[name].excludes(value / 100.0)
        ]


def recursive(encoding: tiktoken.Encoding, size: int = SIZE) -> Splitter:
    """
    Return their recursive splitter without overlap: separators stand before what follows.
    """

    def split(text: str) -> list[Span]:
        @cache
        def length(span: Span) -> int:
            return len(encoding.encode_ordinary(span.slice(text)))

        levels = [_level(text, one) for one in SEPARATORS]
        levels.append(lambda span: range(span.start + 1, span.end))
        whole = Span(0, len(text))
        return split_recursively(whole, levels, size=size, overlap=0, length=length)

    return split


def _level(text: str, separator: str) -> Level:
    pattern = re.compile(re.escape(separator))
    return lambda span: [
        one.start()
        for one in pattern.finditer(text, span.start, span.end)
        if one.start() > span.start
    ]


def tokens(encoding: tiktoken.Encoding) -> Splitter:
    """
    Return their windows of tokens.
    """

    def split(text: str) -> list[Span]:
        ids = encoding.encode_ordinary(text)
        _, starts = encoding.decode_with_offsets(ids)
        places = [*starts, len(text)]
        return [
            Span(places[first], places[end])
            for first, end in Windows(len(ids), SIZE).ranges()
            if places[first] < places[end]
        ]

    return split


def clusters(encoding: tiktoken.Encoding, embedder: DocumentEmbedder) -> Splitter:
    """
    Return their grouping of small pieces.
    """

    def split(text: str) -> list[Span]:
        pieces = recursive(encoding, PIECE)(text)
        made = embedder.embed_documents([_seen(embedder, one.slice(text)) for one in pieces])
        vectors = np.asarray(made, dtype=np.float64)
        groups = best_groups(
            vectors,
            [1] * len(pieces),
            mean=mean_similarity(vectors),
            most_pieces=SIZE // PIECE,
            size=SIZE // PIECE,
        )
        return [Span(pieces[first].start, pieces[last].end) for first, last in groups]

    return split


def _seen(embedder: DocumentEmbedder, text: str) -> str:
    """
    Return what the model would see of a text.
    """
    text = text.strip()
    room = embedder.spec.max_tokens - embedder.count("")
    if embedder.count(text) <= embedder.spec.max_tokens:
        return text
    return text[: embedder.offsets(text)[room - 1][1]]


def measured(
    name: str, splitter: Splitter, question_set: QuestionSet, embedder: DocumentEmbedder
) -> Row:
    """
    Return what a splitter's chunks are worth.
    """
    chunks: list[ChunkOf] = []
    cut = 0
    for document in question_set.documents.values():
        for span in splitter(document.text):
            text = span.slice(document.text).strip()
            place = _placed(document, span)
            if place is not None:
                seen = _seen(embedder, text)
                cut += len(seen) < len(text)
                chunks.append(ChunkOf(document.doc_id, place, seen))
    searched = search_chunks(
        question_set.questions,
        chunks,
        chunk_vectors=embedder.embed_documents([one.embedding_input for one in chunks]),
        question_vectors=embedder.embed_documents([one.text for one in question_set.questions]),
    )
    found, together = (
        {
            measure: mean_of(
                [value(one) for one in searched.scores],
                resamples=RESAMPLES,
                confidence=confidence,
            )
            for measure, value in MEASURES.items()
        }
        for confidence in (CONFIDENCE, TOGETHER)
    )
    return Row(name, len(chunks), cut, found, together)


def _placed(document: Document, span: Span) -> Span | None:
    """
    Return where a chunk counts as standing: the first place of its text, a last full stop left out,
    as it was there.
    """
    inner = span.slice(document.text).strip().removesuffix(".")
    if not inner:
        return None
    start = document.text.find(inner)
    return Span(start, start + len(inner))


def cl100k(tokenizers: Path, cache: Path) -> tiktoken.Encoding:
    """
    Return the encoding from the rank file that is there; nothing is fetched.

    Args:
        tokenizers: Folder of the rank files.
        cache: Where the file is put under the name that tiktoken looks for.
    """
    cache.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha1(CL100K.encode(), usedforsecurity=False).hexdigest()
    shutil.copy(rank_path(tokenizers, "cl100k_base"), cache / name)
    os.environ["TIKTOKEN_CACHE_DIR"] = str(cache)
    return tiktoken.get_encoding("cl100k_base")


def main(words: Sequence[str] | None = None) -> None:
    """
    Measure the rows and print them beside what was published.
    """
    parser = argparse.ArgumentParser(prog="bench.chroma_rows", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="Folder of chroma_chunking.")
    parser.add_argument("--work", type=Path, default=Path("var/bench"), help="Cached vectors.")
    parser.add_argument("--rows", default=",".join(PUBLISHED), help="Rows with commas.")
    parser.add_argument("--json", action="store_true", help="JSON lines instead of a table.")
    asked = parser.parse_args(words)
    settings = Settings()
    install_tokenizers(settings.tokenizer_dir)
    encoding = cl100k(settings.tokenizer_dir, asked.work / "tiktoken")
    embedder = CachedEmbedder(OnnxEmbedder(settings.model_dir), asked.work / "vectors.sqlite")
    question_set = read_set(asked.data / "chroma_chunking")
    splitters = {
        "recursive": recursive(encoding),
        "tokens": tokens(encoding),
        "cluster": clusters(encoding, embedder),
    }
    for name in asked.rows.split(","):
        row = measured(name, splitters[name], question_set, embedder)
        _print(row, is_json=asked.json)


def _print(row: Row, *, is_json: bool) -> None:
    if is_json:
        figures = {name: [one.value, one.low, one.high] for name, one in row.found.items()}
        print(json.dumps({"row": row.name, "chunks": row.chunks, "cut": row.cut, **figures}))  # noqa: T201 - the command's output
        return
    print(f"{row.name}: {row.chunks} chunks, {row.cut} longer than the model takes")  # noqa: T201 - the command's output
    for (name, one), published in zip(row.found.items(), PUBLISHED[row.name], strict=True):
        where = " and ".join(
            f"{'outside' if name in row.outside(intervals) else 'inside'} "
            f"{intervals[name].low:.1%} to {intervals[name].high:.1%} {of}"
            for intervals, of in ((row.found, "(alone)"), (row.together, "(all at once)"))
        )
        print(f"  {name:16} {one.value:6.1%}, published {published:.1f} %: {where}")  # noqa: T201 - the command's output


if __name__ == "__main__":
    main()
