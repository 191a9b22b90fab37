"""
Ways to cut, compared on the same questions: figures, differences, and which of them are real.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluation.bootstrap import CONFIDENCE, Estimate, difference_of, mean_of
from evaluation.chunk_measures import ChunkScores

FEWEST_QUESTIONS = 10
"""With fewer, all of them agreeing is chance still."""


@dataclass(frozen=True, slots=True)
class Compared:
    """
    What one way to cut is worth, and what it costs.

    Attributes:
        measured: Per measure what every question got, from 0 to 1, in the questions' order.
        mean_tokens: Of what is embedded of a chunk, by the embedding model.
        duplication_ratio: Distinct characters over those of all chunks.
        vector_bytes: Of all chunks as float32.
        index_bytes: Of the index on disk; None where none was made.
        cut_seconds: Of cutting alone, embeddings that the strategy asks for included.
        search_milliseconds: Mean of one exact search, embedding left out.
        embedded: Inputs that no earlier way had embedded.
    """

    name: str
    strategy: str
    settings: Mapping[str, str | int | float | bool]
    measured: Mapping[str, tuple[float, ...]]
    chunks: int
    sections: int
    mean_tokens: float
    duplication_ratio: float
    vector_bytes: int
    index_bytes: int | None
    cut_seconds: float
    search_milliseconds: float
    embedded: int

    def mean(self, measure: str) -> Estimate:
        """
        Return the mean over the questions with its 95 % interval.
        """
        return mean_of(self.measured[measure])


@dataclass(frozen=True, slots=True)
class Comparison:
    """
    All ways to cut; the first is the one that the others are compared with.

    Raises:
        ValueError: There is none, or they were not asked the same.
    """

    ways: tuple[Compared, ...]

    def __post_init__(self) -> None:
        """
        Refuse what cannot be compared.
        """
        asked = {(tuple(way.measured), len(next(iter(way.measured.values())))) for way in self.ways}
        if len(asked) != 1:
            msg = "ways to cut are compared by the same measures on the same questions"
            raise ValueError(msg)

    @property
    def measures(self) -> tuple[str, ...]:
        """
        Return the names of the measures.
        """
        return tuple(self.ways[0].measured)

    @property
    def questions(self) -> int:
        """
        Return how many questions were asked.
        """
        return len(self.ways[0].measured[self.measures[0]])

    @property
    def confidence(self) -> float:
        """
        Return that of a difference: the more ways, the wider (Bonferroni).
        """
        return 1.0 - (1.0 - CONFIDENCE) / max(len(self.ways) - 1, 1)

    def change(self, way: Compared, measure: str) -> Estimate:
        """
        Return how much a way is above the first one, drawn in pairs.
        """
        return difference_of(
            way.measured[measure], self.ways[0].measured[measure], confidence=self.confidence
        )

    def verdicts(self) -> list[str]:
        """
        Return a sentence per measure: which ways differ really from the first one.
        """
        first = self.ways[0].name
        if len(self.ways) == 1:
            return [f"only {first} was measured; there is nothing to compare"]
        if self.questions < FEWEST_QUESTIONS:
            few = f"{self.questions} questions are too few to tell"
            return [f"{few}; at least {FEWEST_QUESTIONS}, better 50"]
        return [f"{measure}: {self._verdict(measure)}" for measure in self.measures]

    def _verdict(self, measure: str) -> str:
        better: list[str] = []
        worse: list[str] = []
        for way in self.ways[1:]:
            change = self.change(way, measure)
            if change.excludes(0.0):
                told = f"{way.name} ({100 * change.value:+.1f} points)"
                (better if change.value > 0 else worse).append(told)
        parts = [
            f"{said} than {self.ways[0].name}: {', '.join(names)}"
            for said, names in (("better", better), ("worse", worse))
            if names
        ]
        return "; ".join(parts) or f"no way differs from {self.ways[0].name} beyond chance"


def measured_chunks(scores: Sequence[ChunkScores], top: int) -> dict[str, tuple[float, ...]]:
    """
    Return the measures of retrieved chunks by name, one value per question.
    """
    return {
        f"recall@{top}": tuple(one.recall for one in scores),
        f"precision@{top}": tuple(one.precision for one in scores),
        "precision_omega": tuple(one.precision_omega for one in scores),
        f"iou@{top}": tuple(one.iou for one in scores),
        f"hit@{top}": tuple(float(one.is_hit) for one in scores),
        f"mrr@{top}": tuple(one.reciprocal_rank for one in scores),
    }
