"""
A sentence-transformers CrossEncoder as reranker, in this process.

Needs the optional dependencies `models` (sentence-transformers and torch); both are imported only
when a reranker is made.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
import unicodedata
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from assembler.errors import RerankerUnavailable

BATCH_TEXTS = 32

_SURROGATE = re.compile("[\ud800-\udfff]")


class CrossEncoderReranker:
    """
    Scores texts one call after the other in a thread of its own; a tokenizer serves one thread.

    Scores are raw. Texts go through the model in an order of their own, so that equal sets of texts
    have equal scores in whatever order they are given; what is longer than the model takes is cut.
    """

    def __init__(self, model: str, *, threads: int = 2, batch_texts: int = BATCH_TEXTS) -> None:
        """
        Load the model, on the CPU.

        Args:
            model: A CrossEncoder's name or folder.
            threads: Threads of one forward pass, of this whole process.
            batch_texts: Most texts of one forward pass.

        Raises:
            RerankerUnavailable: The packages or the model are missing, or it is no reranker.
        """
        try:
            import torch  # noqa: PLC0415 - heavy, only where reranking is on
            from sentence_transformers import CrossEncoder  # noqa: PLC0415 - as torch
        except ImportError as error:
            raise RerankerUnavailable(
                "reranking in this process needs sentence-transformers and torch; install the "
                "optional dependencies `models`, or name a rerank endpoint instead"
            ) from error
        try:
            loaded = CrossEncoder(model, device="cpu").float().eval()
        except Exception as error:  # the libraries raise many kinds
            raise RerankerUnavailable(f"the reranker {model} cannot be loaded: {error}") from error
        if loaded.num_labels != 1:
            raise RerankerUnavailable(
                f"the model {model} gives {loaded.num_labels} scores per text; a reranker gives 1"
            )
        torch.set_num_threads(threads)
        digest = hashlib.sha256()
        for name, tensor in sorted(loaded.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.contiguous().numpy().tobytes())
        self._identity = f"cross-encoder:{digest.hexdigest()}"
        self._model = loaded
        self._raw = torch.nn.Identity()
        self._batch_texts = batch_texts
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="rerank")

    @property
    def identity(self) -> str:
        """
        Return the hash of the weights.
        """
        return self._identity

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """
        Return one score per text, in the given order; the event loop goes on meanwhile.

        Raises:
            RerankerUnavailable: The model gives something that is no number.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._scores, query, tuple(texts))

    def _scores(self, query: str, texts: Sequence[str]) -> list[float]:
        asked = _encodable(query)
        readable = [_encodable(text) for text in texts]
        distinct = sorted(set(readable), key=lambda text: (len(text), text))
        made = self._model.predict(
            [(asked, text) for text in distinct],
            batch_size=self._batch_texts,
            show_progress_bar=False,
            activation_fn=self._raw,
        )
        by_text = dict(zip(distinct, map(float, made), strict=True))
        if not all(map(math.isfinite, by_text.values())):
            raise RerankerUnavailable("the reranker gives scores that are no numbers")
        return [by_text[text] for text in readable]


def _encodable(text: str) -> str:
    """
    Return the text in NFC, with surrogates, which no tokenizer takes, as replacement characters.
    """
    return unicodedata.normalize("NFC", _SURROGATE.sub("\ufffd", text))
