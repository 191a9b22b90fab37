"""
Token counts of short texts, remembered: chunks, headings and markers come back request after
request.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

from assembler.ports import ChatMessage, TokenCounter, TokenCounters

MOST_CHARS = 4096
"""Longer texts are whole contexts, which hardly come twice."""

KEPT = 32_768
"""Counts that are kept per tokenizer: a few megabytes, whatever the texts."""

DIGEST_BYTES = 16


class RememberedCounts:
    """
    A tokenizer whose counts of short texts are kept by the hash of the text; no text is kept.
    """

    def __init__(self, counter: TokenCounter, *, kept: int = KEPT) -> None:
        self._counter = counter
        self._kept = kept
        self._counts: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0

    @property
    def name(self) -> str:
        """
        Return the tokenizer's name.
        """
        return self._counter.name

    @property
    def sha256(self) -> str:
        """
        Return the hash of its file.
        """
        return self._counter.sha256

    def count(self, text: str) -> int:
        """
        Return the number of tokens of a text of its own.
        """
        if len(text) > MOST_CHARS:
            return self._counter.count(text)
        content = text.encode("utf-8", "surrogatepass")
        key = hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()
        with self._lock:
            known = self._counts.get(key)
            if known is not None:
                self._counts.move_to_end(key)
                self.hits += 1
                return known
            self.misses += 1
        tokens = self._counter.count(text)
        with self._lock:
            self._counts[key] = tokens
            if len(self._counts) > self._kept:
                self._counts.popitem(last=False)
        return tokens

    def count_messages(self, messages: Sequence[ChatMessage]) -> int:
        """
        Return the number of tokens of a prompt, by the tokenizer's own rule.
        """
        return self._counter.count_messages(messages)


class RememberedTokenizers:
    """
    Tokenizers whose counts of short texts are kept between requests.
    """

    def __init__(self, tokenizers: TokenCounters, *, kept: int = KEPT) -> None:
        self._tokenizers = tokenizers
        self._counters = {
            name: RememberedCounts(tokenizers.get(name), kept=kept) for name in tokenizers.names()
        }

    def get(self, name: str) -> TokenCounter:
        """
        Return the counter for a name, by whatever names the tokenizers know it.

        Raises:
            TokenizerUnknown: There is none.
        """
        return self._counters[self._tokenizers.get(name).name]

    def names(self) -> Sequence[str]:
        """
        Return every tokenizer's own name.
        """
        return self._tokenizers.names()

    def requests(self) -> tuple[int, int]:
        """
        Return how many counts were known, and how many had to be made.
        """
        counters = self._counters.values()
        return sum(one.hits for one in counters), sum(one.misses for one in counters)
