"""
Profiles: the numbers of ranking and packing, as data.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
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
    section_limit: int = 100
    coarse_sections: int = 50
    rerank: bool = False
    rerank_weight: float = 0.5
    rerank_limit: int = 50

    @property
    def sha256(self) -> str:
        """
        Return a hash of every number, to be echoed and used in fingerprints.
        """
        return hashlib.sha256(repr(sorted(asdict(self).items())).encode()).hexdigest()


DEFAULT_PROFILE = Profile("default")

PROFILES = {DEFAULT_PROFILE.name: DEFAULT_PROFILE}
"""Every profile by its name."""
