"""
How sure a figure is: means, ratios of misses and differences with their 95 % bootstrap intervals.

Percentile intervals (Efron, 1979). Systems that are compared are drawn together, question by
question, so that what makes a question easy for both does not count as a difference.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

RESAMPLES = 2000
SEED = 20261130
CONFIDENCE = 0.95

Floats: TypeAlias = npt.NDArray[np.float64]
Pair: TypeAlias = tuple[Sequence[float], Sequence[float]]
"""What two systems had of the same questions, in the same order."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """
    A figure with the interval that it lies in, with 95 % confidence unless another was asked for.
    """

    value: float
    low: float
    high: float

    def excludes(self, value: float) -> bool:
        """
        Return whether a value lies outside the interval.
        """
        return not self.low <= value <= self.high


def mean_of(
    values: Sequence[float],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """
    Return the mean of what was measured per question.
    """
    measured = np.asarray(values, dtype=np.float64)
    means = _sums(measured, resamples, seed) / len(measured)
    return _estimate(float(measured.mean()), means, confidence)


def difference_of(
    ours: Sequence[float],
    theirs: Sequence[float],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """
    Return how much the mean of the first is above that of the second, drawn in pairs.

    Raises:
        ValueError: They are not of the same questions.
    """
    pairs = zip(ours, theirs, strict=True)
    differences = [mine - other for mine, other in pairs]
    return mean_of(differences, resamples=resamples, seed=seed, confidence=confidence)


def miss_ratio_of(
    sets: Sequence[Sequence[Pair]],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Estimate:
    """
    Return what the first system misses of what the second misses, in the mean over sets.

    A set's ratio is the mean over its pairs, one for each budget. Questions are drawn inside each
    set, the same for both systems and all pairs. A pair in which neither misses anything says
    nothing and is left out (all of them: not a number); where only the second misses nothing the
    ratio is infinite.

    Args:
        sets: Per set and budget, what both systems miss of each question.
        resamples: How often questions are drawn.
        seed: Makes the interval the same in every run.

    Raises:
        ValueError: The systems were not asked the same questions.
    """
    values, drawn = [], []
    for number, pairs in enumerate(sets):
        for ours, theirs in pairs:
            if len(ours) != len(theirs):
                msg = f"set {number} has {len(ours)} and {len(theirs)} questions"
                raise ValueError(msg)
        own_seed = seed + number
        found = [tuple(np.asarray(one, dtype=np.float64) for one in pair) for pair in pairs]
        values.append(_mean([_ratios(mine.sum(), other.sum()) for mine, other in found]))
        sums = [[_sums(one, resamples, own_seed) for one in pair] for pair in found]
        drawn.append(_mean([_ratios(mine, other) for mine, other in sums]))
    return _estimate(float(_mean(values)[0]), _mean(drawn), CONFIDENCE)


def _ratios(ours: npt.ArrayLike, theirs: npt.ArrayLike) -> Floats:
    mine, other = np.atleast_1d(ours), np.atleast_1d(theirs)
    ratios: Floats = np.where(mine > 0.0, np.inf, np.nan)
    np.divide(mine, other, out=ratios, where=other > 0.0)
    return ratios


def _mean(rows: Sequence[Floats]) -> Floats:
    """
    Return the mean of the rows, place by place, of what is a number.
    """
    stacked = np.stack(rows)
    known = ~np.isnan(stacked)
    mean: Floats = np.full(stacked.shape[1], np.nan)
    np.divide(np.nansum(stacked, axis=0), known.sum(axis=0), out=mean, where=known.any(axis=0))
    return mean


def _sums(values: Floats, resamples: int, seed: int) -> Floats:
    sums: Floats = _draws(len(values), resamples, seed) @ values
    return sums


@functools.lru_cache(maxsize=16)
def _draws(questions: int, resamples: int, seed: int) -> Floats:
    """
    Return how often each question is drawn in each resample.
    """
    generator = np.random.default_rng(seed)
    share = np.full(questions, 1.0 / questions)
    return generator.multinomial(questions, share, size=resamples).astype(np.float64)


def _estimate(value: float, drawn: Floats, confidence: float) -> Estimate:
    known = drawn[~np.isnan(drawn)]
    if not len(known):
        return Estimate(value, math.nan, math.nan)
    tail = round(50.0 * (1.0 - confidence), 6)
    low, high = np.percentile(known, (tail, 100.0 - tail), method="inverted_cdf")
    return Estimate(value, float(low), float(high))
