"""
What a run's chunks are like, and why their borders are where they are.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from assembler.model import BorderKind, Section
from assembler.span import union_of
from indexer.cut_source import CutSource, Draft

WEAK_TERMS = 4
"""A chunk of fewer different words is found by chance."""

WHY = {
    BorderKind.PARAGRAPH: "structure: paragraph",
    BorderKind.SENTENCE: "size: sentence",
    BorderKind.FORCED: "forced: inside a sentence",
}
START = "start of the text"
HEADING = "structure: heading"
SECTION_FULL = "size: section full"
UNKNOWN_LANGUAGE = "unknown"
_TERM = re.compile(r"\w+")


@dataclass(slots=True)
class BuildReport:
    """
    Figures of what a run wrote.

    Attributes:
        chunk_tokens: Chunks by the tokens of their text, prefixes left out.
        borders: Borders between chunks by why they are there.
        weak: Chunks of fewer than `WEAK_TERMS` different words, by source.
        terms: Different words of each chunk, summed.
        chars: Characters by language.
        tokens: Tokens by language, in whole texts.
        covered: Characters that lie in any chunk.
        occurrences: Characters of all chunks.
    """

    chunk_tokens: Counter[int] = field(default_factory=Counter)
    borders: Counter[str] = field(default_factory=Counter)
    weak: Counter[str] = field(default_factory=Counter)
    terms: int = 0
    chars: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    covered: int = 0
    occurrences: int = 0

    def add(self, cut: CutSource) -> None:
        """
        Take a source.
        """
        language = cut.language or UNKNOWN_LANGUAGE
        self.chars[language] += len(cut.text)
        self.tokens[language] += cut.tokens
        for draft in cut.drafts:
            terms = len(_terms(draft))
            self.terms += terms
            self.chunk_tokens[draft.tokens] += 1
            if terms < WEAK_TERMS:
                self.weak[cut.file.source_id] += 1
        self.borders.update(begins(cut)[1:])
        spans = [draft.chunk.span for draft in cut.drafts]
        self.covered += sum(span.length for span in union_of(spans))
        self.occurrences += sum(span.length for span in spans)

    @property
    def duplication_ratio(self) -> float:
        """
        Return distinct characters over those of all chunks; 1 where nothing is repeated.
        """
        return self.covered / self.occurrences if self.occurrences else 1.0

    @property
    def density(self) -> float:
        """
        Return different words per token, chunk by chunk: the less, the less a vector tells apart.
        """
        total = sum(tokens * count for tokens, count in self.chunk_tokens.items())
        return self.terms / total if total else 0.0

    def tokens_at(self, share: float) -> int:
        """
        Return the tokens that so large a share of the chunks have at most; 0 without chunks.
        """
        sizes = sorted(self.chunk_tokens.elements())
        return sizes[min(int(share * len(sizes)), len(sizes) - 1)] if sizes else 0

    def facts(self) -> dict[str, object]:
        """
        Return the figures, for programs.
        """
        return {
            "chunk_tokens": {
                name: self.tokens_at(share)
                for name, share in (("least", 0.0), ("median", 0.5), ("p95", 0.95), ("most", 1.0))
            },
            "borders": dict(sorted(self.borders.items())),
            "density": round(self.density, 4),
            "duplication_ratio": round(self.duplication_ratio, 4),
            "tokens_per_char": {
                name: round(self.tokens[name] / max(chars, 1), 4)
                for name, chars in sorted(self.chars.items())
            },
            "weak": dict(self.weak),
        }

    def lines(self) -> list[str]:
        """
        Return the figures, for people; none where nothing was written.
        """
        if not self.chunk_tokens:
            return []
        sizes = ", ".join(
            f"{name} {self.tokens_at(share)}"
            for name, share in (("least", 0.0), ("median", 0.5), ("95 %", 0.95), ("most", 1.0))
        )
        said = [f"tokens of a chunk: {sizes}"]
        if self.borders:
            whys = ", ".join(f"{count} {why}" for why, count in self.borders.most_common())
            said.append(f"borders: {whys}")
        said.append(
            f"different words per token {self.density:.2f}, duplication ratio "
            f"{self.duplication_ratio:.3f}, tokens per character "
            + ", ".join(
                f"{name} {self.tokens[name] / max(chars, 1):.2f}"
                for name, chars in sorted(self.chars.items())
            )
        )
        if self.weak:
            source, count = self.weak.most_common(1)[0]
            said.append(
                f"weak: {self.weak.total()} chunks of fewer than {WEAK_TERMS} different words, "
                f"{count} of them in {source}"
            )
        return said


def _terms(draft: Draft) -> set[str]:
    return {one.lower() for one in _TERM.findall(draft.text)}


def begins(cut: CutSource) -> list[str]:
    """
    Return why each chunk of a source begins where it does, in order.
    """
    found: list[str] = []
    before: Section | None = None
    for section in cut.sections:
        if before is None:
            found.append(START)
        else:
            is_same = section.heading_path == before.heading_path
            found.append(SECTION_FULL if is_same else HEADING)
        kinds = {border.offset: border.kind for border in section.borders}
        found += [WHY[kinds.get(span.start, BorderKind.FORCED)] for span in section.chunk_spans[1:]]
        before = section
    return found
