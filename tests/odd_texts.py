"""
Odd texts: what real files are made of, put together at random.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from tests.fakes import FakeEmbedder

PIECES = (
    *("word ", "refund. ", "Nr. 5 ", "z.B. ", "U.S. ", "end\n", "\n\n", "\n", " ", "\t", "\x00"),
    *("# Title\n", "## Part\n\n", "### " + "long " * 60 + "\n", "Setext\n======\n", "####\n"),
    *("```py\n# no heading\n```\n", "~~~\n", "| a | b |\n| - | - |\n", "| 1 | 2 |\n"),
    *("as follows:\n\n", "- item\n", "1. item\n", "> quoted\n", "<|endoftext|>"),
    *("x" * 400, "e\u0301", "u\u0308" * 90, "o" + "\u0301" * 200, "שלום ", "مرحبا ", "漢字" * 80),
    *(
        "👩‍👩‍👧",
        "👩‍👩‍👧" * 70,
        "🇩🇪🇫🇷" * 60,
        "👍🏽",
        "각" * 50,
        "नमस्ते ",
        "\u200f",
        "\u2028",
        "\u00a0",
    ),
    *("word " * 300, "A sentence of six words here. " * 40, "\v", "\x85", "\f"),
)
anything = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=30)


def joined(pieces: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """
    Return texts as `read_source` leaves them: with line feeds only, and not blank.
    """
    return st.lists(pieces, min_size=1, max_size=25).map("".join).filter(str.strip)


texts = joined(st.sampled_from(PIECES) | anything)


class LetterEmbedder(FakeEmbedder):
    """
    A model for which every letter is a token, as some scripts are for most models.
    """

    def count(self, text: str) -> int:
        return len(self.offsets(text)) + 2

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        return [(at, at + 1) for at, letter in enumerate(text) if not letter.isspace()]


class UnevenEmbedder(FakeEmbedder):
    """
    A model whose texts have more tokens than the places of their words let expect.
    """

    def count(self, text: str) -> int:
        return sum(1 + (end - start) // 4 for start, end in self.offsets(text)) + 2


additive_models = st.sampled_from([FakeEmbedder(), LetterEmbedder()])
models = additive_models | st.just(UnevenEmbedder())
