"""
A corpus of any size from any folder of documents, and questions that nothing was asked before.

The documents are indexed by the product; filler around them has their words in other order and
vectors turned away from theirs (see `bench.big_index`). Everything is drawn from one seed.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from adapters.edge_store import EdgeStore
from adapters.embedder import OnnxEmbedder
from bench.big_index import add_filler, models
from bench.quality.prepare import prepare
from evaluation.question_set import Document, QuestionSet
from indexer.ports import Progress

FORMATS = {".md": "markdown", ".txt": "text", ".html": "html"}
LANGUAGE = "en"
WORDS = (5, 11)
"""A question has so many words of one sentence, and a strange one."""

SEED = 11

_WORD = re.compile(r"\w[\w'-]*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Corpus:
    """
    A served index and the sentences that questions are made of.
    """

    data_dir: Path
    index: str
    chunks: int
    sentences: tuple[str, ...]

    def questions(self, seed: int = SEED) -> Iterator[str]:
        """
        Yield questions without end: words of a sentence, in order, with one of another sentence.
        """
        draw = random.Random(seed)  # noqa: S311 - no secrets
        while True:
            words = _WORD.findall(draw.choice(self.sentences))
            count = min(draw.randint(*WORDS), len(words))
            first = draw.randrange(len(words) - count + 1)
            strange = draw.choice(_WORD.findall(draw.choice(self.sentences)))
            yield " ".join((*words[first : first + count], strange))


def corpus(folder: Path, chunks: int, *, model_dir: Path, work: Path, progress: Progress) -> Corpus:
    """
    Return an index of at least so many chunks, made where it is not there yet.

    Args:
        folder: Documents: Markdown, text or HTML, at any depth.
        chunks: How many chunks; fewer than the documents have adds no filler.
        model_dir: The exported embedding model.
        work: Indexes are kept here between runs.
        progress: Told how far it is.

    Raises:
        ValueError: There are no documents.
    """
    found = question_set(folder, chunks, work)
    place = work / f"{folder.name}-{chunks}"
    made = prepare(found, model_dir=model_dir, work=place, progress=progress)
    count = made.chunks
    if count < chunks:
        real = models([found], {found.name: made.index}, made.data_dir, OnnxEmbedder(model_dir))
        count = add_filler(EdgeStore(made.data_dir), made.index, real, chunks, progress)
    return Corpus(made.data_dir, made.index, count, _sentences(found))


def question_set(folder: Path, chunks: int, work: Path) -> QuestionSet:
    """
    Return a folder's documents as a set without questions, named for the index of so many chunks.

    Raises:
        ValueError: There are no documents.
    """
    documents = _documents(folder, work / "documents")
    if not documents:
        msg = f"{folder} has no documents ({', '.join(FORMATS)})"
        raise ValueError(msg)
    return QuestionSet(f"{folder.name}-{chunks}", {one.doc_id: one for one in documents}, ())


def _documents(folder: Path, copies: Path) -> list[Document]:
    """
    Return the folder's documents, copied side by side: the question sets' files have flat names.
    """
    copies.mkdir(parents=True, exist_ok=True)
    found = []
    for path in sorted(one for one in folder.rglob("*") if one.suffix in FORMATS):
        content = path.read_bytes()
        name = str(path.relative_to(folder))
        digest = hashlib.sha256(name.encode()).hexdigest()[:12]
        copy = copies / f"{digest}{path.suffix}"
        copy.write_bytes(content)
        text = content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
        found.append(
            Document(name, path.stem, LANGUAGE, FORMATS[path.suffix], name, "", text, copy)
        )
    return found


def _sentences(documents: QuestionSet) -> tuple[str, ...]:
    texts = (one.text for one in documents.documents.values())
    found = (part for text in texts for part in _SENTENCE_END.split(text))
    return tuple(one for one in found if len(_WORD.findall(one)) >= WORDS[0])
