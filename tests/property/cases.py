"""
Packed contexts of random corpora, candidates, budgets, orders, formats and expansions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter

from assembler.budget import Measure
from assembler.conclude import Basis, conclude
from assembler.expand import expand
from assembler.model import Section, VersionKey
from assembler.pack import Packed, Work, pack
from assembler.profile import DEFAULT_PROFILE, Profile
from assembler.rank import Support
from assembler.report import AssembledContext
from assembler.request import (
    AssembleRequest,
    Budget,
    ContextTokens,
    Expansion,
    ExpansionMode,
    Fill,
    Layout,
    Query,
    Target,
)
from assembler.rules import Rules, share_of
from assembler.scope import IndexVersion
from assembler.span import Span
from tests.counters import CharCounter
from tests.strategies import Source, candidates, corpora, expansions, fills, layouts

thorough = settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
PRICED = replace(DEFAULT_PROFILE, price=0.4)


@dataclass(frozen=True, repr=False)
class Case:
    """
    One packed context with everything it was made from.
    """

    corpus: tuple[Source, ...]
    limit: int
    layout: Layout
    packed: Packed
    context: AssembledContext

    def __repr__(self) -> str:
        return f"Case(limit={self.limit}, layout={self.layout}, context={self.context.context!r})"

    def _repr_pretty_(self, printer: RepresentationPrinter, _is_cycle: bool) -> None:
        printer.text(repr(self))

    @property
    def texts(self) -> Mapping[VersionKey, str]:
        return {source.version: source.text for source in self.corpus}

    def section_at(self, version: VersionKey, span: Span) -> Section:
        source = next(one for one in self.corpus if one.version == version)
        return next(
            one for one in source.sections if one.span.contains(Span(span.start, span.start + 1))
        )


def assembled(
    corpus: tuple[Source, ...],
    ranked: tuple,
    *,
    limit: int,
    layout: Layout,
    expansion: Expansion,
    fill: Fill,
    profile: Profile = PRICED,
    hidden: frozenset[str] = frozenset(),
    source_share: float = 1.0,
    counter: CharCounter | None = None,
) -> Case:
    """
    Run the pure half of the flow; sections whose key is hidden are missing.
    """
    counter = counter or CharCounter()
    sections = {
        ("docs", one.key): one
        for source in corpus
        for one in source.sections
        if one.key not in hidden
    }
    own = {
        ("docs", chunk.key): chunk.span.slice(source.text)
        for source in corpus
        for chunk in source.chunks
    }
    evidence, lost = expand(ranked, sections, own, expansion, ["refund never"])
    assert lost == ()
    scores = {(one.version, one.chunk.ordinal): one.score for one in ranked}
    rules = Rules(limit, share_of(limit, source_share), (Target("docs"),), fill, profile.price)
    own = {(one.version, one.chunk.ordinal): one.score / 2 for one in ranked}
    support = Support(own, {}, 0.25) if expansion.mode is ExpansionMode.AUTO else None
    work = Work(evidence, (), rules, layout, scores, support)
    meter = Measure(counter, limit, 0, None)
    packed = pack(work, meter)
    request = AssembleRequest(
        queries=(Query("refund never"),),
        targets=(Target("docs"),),
        budget=Budget("chars", ContextTokens(limit)),
        fill=fill,
        layout=layout,
        expansion=expansion,
    )
    basis = Basis(request, profile, ranked, evidence, {}, (IndexVersion("g", 1),), "")
    return Case(corpus, limit, layout, packed, conclude(packed, basis, meter))


@st.composite
def cases(draw: st.DrawFn, **fixed: object) -> Case:
    corpus = draw(corpora())
    ranked = draw(candidates(corpus))
    keys = [one.key for source in corpus for one in source.sections]
    choices = {
        "limit": draw(st.integers(1, 250)),
        "layout": draw(layouts),
        "expansion": draw(expansions),
        "fill": draw(fills),
        "hidden": frozenset(draw(st.lists(st.sampled_from(keys), max_size=1))),
    }
    return assembled(corpus, ranked, **{**choices, **fixed})
