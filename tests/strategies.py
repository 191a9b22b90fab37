"""
Hypothesis strategies: source versions with sections, chunks, borders and blocks; evidence of them.
"""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass

from hypothesis import strategies as st

from assembler.model import Block, Border, BorderKind, Chunk, Provenance, Section, VersionKey
from assembler.rank import Candidate
from assembler.request import Expansion, ExpansionMode, Fill, Format, Headings, Layout, Order
from assembler.span import Span

WORDS = (
    "refund",
    "only",
    "never",
    "members",
    "[1]",
    "e\u0301",
    "👩‍👩‍👧",
    "שלום",
    "a",
    "</passage>",
    "[…]",
)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Source:
    """
    One source version, cut.
    """

    index: str
    version: VersionKey
    text: str
    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]


@st.composite
def sentences(draw: st.DrawFn) -> str:
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
    end = draw(st.sampled_from([". ", ".\n", "\n\n", "! "]))
    return " ".join(words) + end


@st.composite
def sources(draw: st.DrawFn, number: int = 0) -> Source:
    """
    Return a source version whose sections partition its text and whose chunks cover those, in some
    sections with overlap.
    """
    shared = draw(st.lists(sentences(), min_size=1, max_size=3))
    layout = draw(
        st.lists(
            st.lists(sentences() | st.sampled_from(shared), min_size=1, max_size=6),
            min_size=1,
            max_size=4,
        )
    )
    text = "".join(sentence for section in layout for sentence in section)
    source_id = f"s{draw(st.integers(0, 2))}"
    label = f"v{number}"
    digest = sha256(text)
    version = VersionKey("docs", "", source_id, label, digest)
    origin = Provenance("", source_id, label, digest, None, 1)
    sections: list[Section] = []
    chunks: list[Chunk] = []
    start = 0
    for ordinal, parts in enumerate(layout):
        cuts = [start]
        borders = []
        for part in parts:
            if cuts[-1] != start:
                borders.append(Border(cuts[-1], BorderKind.SENTENCE))
            cuts.append(cuts[-1] + len(part))
        end = cuts[-1]
        forced = draw(st.booleans()) and len(parts[0]) > 8
        if forced:
            borders.insert(0, Border(start + 4, BorderKind.FORCED))
            cuts.insert(1, start + 4)
        grouped = [cuts[0]]
        grouped += [cut for cut in cuts[1:-1] if draw(st.booleans())]
        grouped.append(end)
        spans = tuple(Span(a, b) for a, b in itertools.pairwise(grouped))
        if draw(st.booleans()):
            spans = overlapping(spans, cuts)
        blocks = ()
        if len(parts) > 2 and draw(st.booleans()):
            lead = Span(start, start + len(parts[0]))
            blocks = (Block(Span(start, end), lead),)
        key = f"{label}-{source_id}-section{ordinal}"
        body = text[start:end]
        sections.append(
            Section(
                key=key,
                provenance=origin,
                span=Span(start, end),
                ordinal=ordinal,
                text=body,
                text_sha256=sha256(body),
                heading_path=draw(
                    st.sampled_from(
                        [(), ("Rules",), ("Rules", "Exceptions"), ("Travel", "Exceptions")]
                    )
                ),
                title="A title",
                uri="",
                media_type="text/markdown",
                language="en",
                first_chunk_ordinal=len(chunks),
                chunk_spans=spans,
                borders=tuple(borders),
                blocks=blocks,
                metadata={"page": ordinal},
            )
        )
        for span in spans:
            chunks.append(
                Chunk(
                    key=f"{label}-{source_id}-chunk{len(chunks)}",
                    provenance=origin,
                    section_key=key,
                    span=span,
                    ordinal=len(chunks),
                    text_sha256=sha256(text[span.start : span.end]),
                )
            )
        start = end
    return Source("docs", version, text, tuple(sections), tuple(chunks))


def overlapping(spans: tuple[Span, ...], cuts: list[int]) -> tuple[Span, ...]:
    """
    Return the spans, each reaching to the first cut inside the next.
    """
    wider = list(spans)
    for number, after in enumerate(spans[1:]):
        inside = [cut for cut in cuts if after.start < cut < after.end]
        if inside:
            wider[number] = Span(spans[number].start, min(inside))
    return tuple(wider)


@st.composite
def corpora(draw: st.DrawFn) -> tuple[Source, ...]:
    """
    Return one to three source versions, some of the same source, some with equal text.
    """
    count = draw(st.integers(1, 3))
    first = draw(sources(number=0))
    others = [draw(sources(number=number)) for number in range(1, count)]
    return (first, *others)


@st.composite
def candidates(draw: st.DrawFn, corpus: tuple[Source, ...]) -> tuple[Candidate, ...]:
    """
    Return some chunks of the corpus, ranked at random.
    """
    chunks = [(source, chunk) for source in corpus for chunk in source.chunks]
    picked = draw(st.lists(st.sampled_from(chunks), unique_by=lambda one: one[1].key, min_size=1))
    scores = sorted(
        draw(st.lists(st.floats(0.01, 2.0), min_size=len(picked), max_size=len(picked))),
        reverse=True,
    )
    return tuple(
        Candidate(
            rank=rank,
            target=0,
            index=source.index,
            version=source.version,
            chunk=chunk,
            score=score,
            values=(score,),
            queries=(0,),
            cosine=None,
        )
        for rank, ((source, chunk), score) in enumerate(zip(picked, scores, strict=True))
    )


layouts = st.builds(
    Layout, st.sampled_from(Order), st.sampled_from(Format), st.sampled_from(Headings)
)
expansions = st.builds(Expansion, st.sampled_from(ExpansionMode), st.integers(1, 2))
fills = st.sampled_from(Fill)
