"""
Profiles: the numbers of ranking and packing, as data.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict, dataclass
from functools import cached_property

LOST_PRICE = 0.75
"""What a chunk must be worth, as a part of the best, where nothing near was found."""


@dataclass(frozen=True)
class Profile:
    """
    A named set of weights, price and limits; weights belong to a model, so an index names one.

    Attributes:
        dense: Weight of the vector score.
        bm25: Weight of the BM25 score.
        neighbour: Part of each direct neighbour's score that a chunk gains.
        section: Weight of the section's own BM25 score.
        section_best: Weight of the best chunk score in the section.
        document: Weight of the document's best section: the mean of the two scores above.
        price: Part of the best score that a chunk of up to 150 tokens must be worth under `fill`
            AUTO, and longer ones in proportion.
        sure_cosine: Best cosine from which on a question is held to have an answer here.
        lost_cosine: Best cosine up to which it is held to have none; between them the price rises
            to `LOST_PRICE`.
        section_limit: Most sections read per request unless the request says otherwise.
        coarse_sections: The same in the mode COARSE_TO_FINE: sections that are searched for chunks.
        rerank: Whether candidates are reranked unless the request says otherwise.
        rerank_weight: Part of a reranked candidate's score that the reranker decides, 0 to 1.
        rerank_limit: Most candidates that are reranked.
    """

    name: str
    dense: float = 0.6
    bm25: float = 0.4
    neighbour: float = 0.25
    section: float = 0.5
    section_best: float = 0.5
    document: float = 0.5
    price: float = 0.34
    sure_cosine: float = 0.42
    lost_cosine: float = 0.2
    section_limit: int = 100
    coarse_sections: int = 50
    rerank: bool = False
    rerank_weight: float = 0.5
    rerank_limit: int = 50

    def __post_init__(self) -> None:
        """
        Refuse numbers that rank or limit nothing.
        """
        for name in WEIGHTS:
            self._check(name, is_right=_is_amount(getattr(self, name)), must="finite, at least 0")
        if not self.dense and not self.bm25:
            msg = "dense and bm25 must not both be 0; one of them has to find something"
            raise ValueError(msg)
        self._check("price", is_right=_is_amount(self.price), must="finite, at least 0")
        self._check("rerank_weight", is_right=0.0 <= self.rerank_weight <= 1.0, must="0 to 1")
        for name in COSINES:
            right = -1.0 <= getattr(self, name) <= 1.0
            self._check(name, is_right=right, must="-1 to 1")
        self._check(
            "lost_cosine", is_right=self.lost_cosine <= self.sure_cosine, must="at most sure_cosine"
        )
        for name in LIMITS:
            self._check(name, is_right=getattr(self, name) >= 1, must="at least 1")

    def _check(self, name: str, *, is_right: bool, must: str) -> None:
        if not is_right:
            msg = f"{name} must be {must}, got {getattr(self, name)!r}"
            raise ValueError(msg)

    def price_at(self, best_cosine: float | None) -> float:
        """
        Return the price for a question by how near the nearest chunk is.

        Scores are normalised per question and say nothing of that: the best of a list of strangers
        has as high a score as an answer has.

        Args:
            best_cosine: Highest raw cosine of any candidate; None where no vector search ran.
        """
        width = self.sure_cosine - self.lost_cosine
        if best_cosine is None or best_cosine >= self.sure_cosine or width <= 0.0:
            return self.price
        doubt = min((self.sure_cosine - best_cosine) / width, 1.0)
        return self.price + max(LOST_PRICE - self.price, 0.0) * doubt

    @cached_property
    def sha256(self) -> str:
        """
        Return a hash of every number, to be echoed and used in fingerprints.
        """
        return hashlib.sha256(repr(sorted(asdict(self).items())).encode()).hexdigest()


WEIGHTS = ("dense", "bm25", "neighbour", "section", "section_best", "document")
"""Fields of a profile that weigh a signal."""

COSINES = ("sure_cosine", "lost_cosine")
"""Fields of a profile that are raw cosines of its model."""

LIMITS = ("section_limit", "coarse_sections", "rerank_limit")
"""Fields of a profile that say how many at most."""


def _is_amount(value: float) -> bool:
    return math.isfinite(value) and value >= 0.0


DEFAULT_PROFILE = Profile("default")

E5_PROFILE = Profile(
    "multilingual-e5-small", dense=0.7, bm25=0.3, sure_cosine=0.83, lost_cosine=0.77
)

PROFILES = {one.name: one for one in (DEFAULT_PROFILE, E5_PROFILE)}
"""Every profile by its name; one that was fitted to a model has the model's name."""


def profile_of(model: str) -> str:
    """
    Return the name of the profile that was fitted to a model, the default one where none was.

    Args:
        model: Its name, with or without the name of who published it before a slash.
    """
    name = model.rpartition("/")[2].casefold()
    return name if name in PROFILES else DEFAULT_PROFILE.name
