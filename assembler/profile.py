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

E5_PROFILE = Profile("multilingual-e5-small", dense=0.7, bm25=0.3)

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
