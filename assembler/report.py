"""
The account of one request: dispositions, notes, stages, degradations and the finished context.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from assembler.model import MetadataValue, SourceState, VersionKey
from assembler.scope import IndexVersion
from assembler.span import Span

if TYPE_CHECKING:
    from assembler.profile import Profile
    from assembler.rank import Candidate
    from assembler.request import AssembleRequest, PackRequest


class Disposition(enum.Enum):
    """
    What became of a candidate; each has exactly one.
    """

    PACKED = "packed"
    MERGED = "merged"
    DUPLICATE = "duplicate"
    OVER_BUDGET = "over_budget"
    BELOW_SCORE = "below_score"
    SOURCE_SHARE = "source_share"
    SECTION_LIMIT = "section_limit"
    UNDER_PRICE = "under_price"
    EXCLUDED = "excluded"
    SCOPE_DENIED = "scope_denied"
    INVALID = "invalid"


class Note(enum.Enum):
    """
    What else is worth knowing of a candidate or passage; any number of them.
    """

    STEPPED_DOWN = "stepped_down"
    GROWN = "grown"
    CUT = "cut"
    PARENT_MISSING = "parent_missing"
    PARENT_MISMATCH = "parent_mismatch"


class Stage(enum.Enum):
    """
    The timed steps of a request.
    """

    ADMISSION = "admission"
    EMBED = "embed"
    SEARCH = "search"
    RANK = "rank"
    FETCH_SECTIONS = "fetch_sections"
    RERANK = "rerank"
    EXPAND = "expand"
    MERGE = "merge"
    DEDUP = "dedup"
    PACK = "pack"
    CITE = "cite"


class Degradation(enum.Enum):
    """
    Optional work that was left out, and searches that an index has not, declared in the reply.
    """

    GROWTH_SKIPPED = "growth_skipped"
    RERANK_SKIPPED = "rerank_skipped"
    TEXT_SEARCH_MISSING = "text_search_missing"


class Signal(enum.Enum):
    """
    The parts of a score.
    """

    FUSED = "fused"
    DENSE = "dense"
    BM25 = "bm25"
    NEIGHBOUR = "neighbour"
    SECTION = "section"
    SECTION_BEST = "section_best"
    DOCUMENT = "document"
    CALLER = "caller"
    RERANK = "rerank"


class SignalScore(NamedTuple):
    """
    One signal's value for a candidate: weighted, but raw for DENSE (cosine), BM25, CALLER, RERANK.
    """

    signal: Signal
    value: float


SignalValues: TypeAlias = "tuple[float | None, ...]"
"""One value per signal in their order, None where it has none; the last may be left out."""


def scores_of(values: SignalValues) -> tuple[SignalScore, ...]:
    """
    Return the signals that have a value, with it.
    """
    pairs = zip(Signal, values, strict=False)
    return tuple(SignalScore(signal, value) for signal, value in pairs if value is not None)


@dataclass(frozen=True, slots=True)
class PlacedSpan:
    """
    A source range and where it stands in the context: both have the same text.
    """

    source: Span
    context: Span


@dataclass(frozen=True, slots=True)
class CitedSource:
    """
    One source version that a passage stands for, with the ranges it shares with the context.
    """

    target: int
    version: VersionKey
    title: str
    uri: str
    heading_path: tuple[str, ...]
    metadata: tuple[tuple[str, MetadataValue], ...]
    state: SourceState
    spans: tuple[PlacedSpan, ...]


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """
    One numbered block of the context and everything it can be proved by.

    Attributes:
        block: The range of the whole block in the context, marker and heading included.
        text: The block's source text, gaps marked.
        tokens: The block's tokens counted alone.
        scores: The signals of its best candidate.
        queries: Indexes of the queries that found any of its candidates.
    """

    marker: str
    block: Span
    text: str
    tokens: int
    sources: tuple[CitedSource, ...]
    scores: tuple[SignalScore, ...]
    queries: tuple[int, ...]
    chunk_keys: tuple[str, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class BudgetReport:
    """
    Where the tokens went; the three parts sum to `context`.

    Attributes:
        limit: Most tokens the context may add to the frame.
        frame: Tokens of the prompt without the context; 0 for a context of its own.
        is_proxy: The tokenizer stands in for another, by the caller's `safety_ratio` > 1.
    """

    tokenizer: str
    tokenizer_sha256: str
    limit: int
    frame: int
    context: int
    text: int
    headings: int
    markers: int
    is_proxy: bool

    @property
    def unused(self) -> int:
        """
        Return how many tokens more would have been allowed.
        """
        return self.limit - self.context


class CandidateReport(NamedTuple):
    """
    One candidate's fate, for `explain`.
    """

    candidate: Candidate
    disposition: Disposition
    notes: tuple[Note, ...]

    @property
    def chunk_key(self) -> str:
        """
        Return the key that citations carry.
        """
        return self.candidate.chunk.key

    @property
    def target(self) -> int:
        """
        Return the position of the target that it was found in.
        """
        return self.candidate.target

    @property
    def source_id(self) -> str:
        """
        Return the source that it is a part of.
        """
        return self.candidate.version.source_id

    @property
    def version(self) -> str:
        """
        Return the label of the source's version.
        """
        return self.candidate.version.version

    @property
    def span(self) -> Span:
        """
        Return its place in the source text.
        """
        return self.candidate.chunk.span

    @property
    def scores(self) -> tuple[SignalScore, ...]:
        """
        Return what its score is made of.
        """
        return self.candidate.scores


@dataclass(frozen=True, slots=True)
class StageTime:
    """
    How long a stage took, in seconds.
    """

    stage: Stage
    seconds: float


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """
    The reply of the core: the context, its citations and the account of both.

    Attributes:
        corrections: Sum of the absolute differences between estimates and full counts, in tokens.
    """

    context: str
    passages: tuple[CitedPassage, ...]
    budget: BudgetReport
    candidates: tuple[CandidateReport, ...]
    stages: tuple[StageTime, ...]
    index_versions: tuple[IndexVersion, ...]
    degradations: tuple[Degradation, ...]
    request: AssembleRequest | PackRequest
    profile: Profile
    context_sha256: str
    request_fingerprint: str
    corrections: int
