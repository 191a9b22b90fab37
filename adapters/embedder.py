"""
An exported sentence-transformers model, served by ONNX Runtime.
"""

from __future__ import annotations

import asyncio
import re
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Encoding, Tokenizer

from adapters.late_vectors import pooled_ranges, tokens_of
from adapters.model_files import TOKENIZER, WEIGHTS, read_description
from adapters.onnx_runtime import ort
from adapters.store import EmbeddingSpec
from assembler.errors import EmbedderUnavailable, QueryTooLong
from assembler.ports import ModelIdentity, Vector

BATCH_TEXTS = 32

_SURROGATE = re.compile("[\ud800-\udfff]")

Floats = npt.NDArray[np.float32]


class OnnxEmbedder:
    """
    Embeds queries for serving and documents for indexing; never cuts a text.

    What is embedded is NFC, surrogates are U+FFFD, and spellings of special tokens are plain text.
    Every query is one forward pass of batch size 1. One that runs alone takes all threads; those
    that run beside others take one each, which costs half the CPU. Both give the same bits.
    """

    def __init__(self, folder: Path, *, threads: int = 2) -> None:
        """
        Load the model.

        Args:
            folder: As `context-assembler model export` writes it.
            threads: Threads of a forward pass that runs alone.

        Raises:
            EmbedderUnavailable: The folder is missing or damaged.
        """
        description = read_description(folder)
        self._spec = description.spec
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
            self._alone = _loaded(folder, threads)
            self._beside = self._alone if threads == 1 else _loaded(folder, 1)
        except Exception as error:  # both libraries raise bare exceptions of their own
            raise EmbedderUnavailable(f"model folder {folder} cannot be loaded: {error}") from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
        self._running = 0
        self._lock = threading.Lock()
        self._inputs = [one.name for one in self._alone.get_inputs()]
        made = self._alone.get_outputs()[0].shape[-1]
        if made != self._spec.model.dimension:
            raise EmbedderUnavailable(
                f"model folder {folder} says dimension {self._spec.model.dimension}, its model "
                f"makes {made}; run `context-assembler model export` to write it again"
            )

    @property
    def identity(self) -> ModelIdentity:
        """
        Return which model this is.
        """
        return self._spec.model

    @property
    def spec(self) -> EmbeddingSpec:
        """
        Return how texts become vectors.
        """
        return self._spec

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """
        Return one normalised vector per query; the event loop goes on meanwhile.

        Raises:
            QueryTooLong: A query has more tokens than the model takes; the field is
                ``queries[i].text`` with its place among the given texts.
        """
        return await asyncio.to_thread(self._embed_queries, texts)

    def count(self, text: str) -> int:
        """
        Return the model's tokens of a document, prefix and special tokens included.
        """
        return len(self._encoded(self._spec.prefix + text).ids)

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """
        Return the code point range of each token of a text, special tokens left out.
        """
        offsets: Sequence[tuple[int, int]] = self._tokenizer.encode(
            _encodable(text), add_special_tokens=False
        ).offsets
        return offsets

    def embed_documents(
        self,
        texts: Sequence[str],
        progress: Callable[[int], None] | None = None,
        *,
        batch_texts: int = BATCH_TEXTS,
    ) -> list[Vector]:
        """
        Return one normalised vector per document, in the given order.

        Args:
            texts: The exact embedding inputs.
            progress: Told how many more are done, after each batch.
            batch_texts: Texts of one forward pass; those of like length go together.

        Raises:
            ValueError: A text has more tokens than the model takes.
        """
        encoded = [self._encoded(self._spec.prefix + text) for text in texts]
        for number, one in enumerate(encoded):
            if len(one.ids) > self._spec.max_tokens:
                most = self._spec.max_tokens
                msg = f"text {number} has {len(one.ids)} tokens, the model takes {most}"
                raise ValueError(msg)
        order = sorted(range(len(encoded)), key=lambda number: len(encoded[number].ids))
        vectors: list[Vector] = [()] * len(encoded)
        for start in range(0, len(order), batch_texts):
            batch = order[start : start + batch_texts]
            made = self._forward([encoded[number].ids for number in batch])
            for number, vector in zip(batch, made, strict=True):
                vectors[number] = vector.tolist()
            if progress is not None:
                progress(len(batch))
        return vectors

    def embed_spans(
        self, text: str, spans: Sequence[tuple[int, int]], overlap: int
    ) -> list[Vector]:
        """
        Return one normalised vector per range of a text, each of its tokens' vectors in the whole.

        One that holds no token is embedded by itself.

        Args:
            text: Read in windows of the model's maximum where it is longer.
            spans: Half-open ranges of code points, in order, without overlap.
            overlap: Tokens that two windows share.

        Raises:
            ValueError: The model does not pool by mean, so that no part has a vector of its own.
        """
        if self._spec.pooling != "mean":
            msg = f"the model pools by {self._spec.pooling}; parts have vectors where it is mean"
            raise ValueError(msg)
        tokens = tokens_of(_encodable(text), spans, self._spec.prefix, self._tokenizer.encode)
        room = max(self._spec.max_tokens - len(tokens.lead) - len(tokens.tail), 1)
        if not tokens.ids:
            return self.embed_documents([text[start:end] for start, end in spans])
        made = pooled_ranges(
            tokens,
            len(spans),
            room=room,
            overlap=overlap,
            hidden=lambda rows: self._hidden(rows)[0],
            dimension=self._spec.model.dimension,
        )
        vectors: list[Vector] = [one.tolist() for one in made]
        bare = [at for at, one in enumerate(made) if not one.any()]
        alone = self.embed_documents([text[slice(*spans[at])] for at in bare])
        for at, vector in zip(bare, alone, strict=True):
            vectors[at] = vector
        return vectors

    def _embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        vectors: list[Vector] = []
        for number, text in enumerate(texts):
            ids = self._encoded(self._spec.query_prefix + text).ids
            if len(ids) > self._spec.max_tokens:
                raise QueryTooLong(number, tokens=len(ids), most=self._spec.max_tokens)
            vectors.append(self._forward([ids])[0].tolist())
        return vectors

    def _encoded(self, text: str) -> Encoding:
        return self._tokenizer.encode(unicodedata.normalize("NFC", _encodable(text)))

    def _forward(self, rows: Sequence[Sequence[int]]) -> Floats:
        hidden, mask = self._hidden(rows)
        return _pooled(hidden, mask, self._spec)

    def _hidden(self, rows: Sequence[Sequence[int]]) -> tuple[Floats, npt.NDArray[np.int64]]:
        """
        Return a vector per token, and where there are tokens.
        """
        width = max(len(row) for row in rows)
        ids = np.zeros((len(rows), width), dtype=np.int64)
        mask = np.zeros((len(rows), width), dtype=np.int64)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = row
            mask[number, : len(row)] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        with self._session() as session:
            hidden = session.run(None, {name: feeds[name] for name in self._inputs})[0]
        return np.asarray(hidden, dtype=np.float32), mask

    @contextmanager
    def _session(self) -> Iterator[ort.InferenceSession]:
        with self._lock:
            session = self._beside if self._running else self._alone
            self._running += 1
        try:
            yield session
        finally:
            with self._lock:
                self._running -= 1


def _pooled(hidden: Floats, mask: npt.NDArray[np.int64], spec: EmbeddingSpec) -> Floats:
    if spec.pooling == "cls":
        pooled = hidden[:, 0]
    else:
        weights = mask[:, :, None].astype(np.float32)
        pooled = (hidden * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9)
    lengths = np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)
    return np.asarray(pooled / lengths, dtype=np.float32)


def _encodable(text: str) -> str:
    """
    Return the text with surrogates, which no tokenizer takes, as replacement characters.

    Every code point stays where it was, so that offsets hold for the text as given.
    """
    return _SURROGATE.sub("\ufffd", text)


def _loaded(folder: Path, threads: int) -> ort.InferenceSession:
    return ort.InferenceSession(
        str(folder / WEIGHTS), _options(threads), providers=["CPUExecutionProvider"]
    )


def _options(threads: int) -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return options
