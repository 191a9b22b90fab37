"""
Whether what is stored is what the ledger says, point by point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from adapters.bm25 import Bm25Encoder
from adapters.part_reader import PartReader
from adapters.payload import decode_chunk, decode_section, decode_text
from adapters.payload_keys import (
    CONTENT_SHA256,
    FROM_REV,
    KEY,
    KIND,
    SOURCE_ID,
    TEXT_SHA256,
    TO_REV,
    VERSION,
)
from adapters.payload_values import Payload, PayloadDamaged
from adapters.place import of_tenant
from adapters.points import PointReader
from adapters.records import LedgerRow
from adapters.searches import Wanted, text_query, vector_query
from adapters.store import IndexStore
from assembler.errors import IndexUnknown
from assembler.filters import AnyString, Condition, Filter, IntRange
from assembler.model import Chunk, PointKind, Section
from assembler.ports import DenseSearch, SparseSearch
from assembler.scope import IndexVersion, ReadScope, Scope, VersionPolicy
from indexer.cut_source import sha256_of

SHOWN_PROBLEMS = 100
SAMPLES = 20
"""Chunks that are searched for by their own text and vector, by those who may read them."""

REACH = 10
"""A sampled chunk has to be among so many hits."""


@dataclass(slots=True)
class Verified:
    """
    What a check found.

    Attributes:
        problems: The first of them, each naming its source; `problem_count` counts all.
        samples: Chunks that were searched for.
        found_by_vector: Those that their own vector found.
        found_by_text: Those that their own text found.
    """

    index_version: str
    sources: int = 0
    sections: int = 0
    chunks: int = 0
    samples: int = 0
    found_by_vector: int = 0
    found_by_text: int = 0
    problem_count: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """
        Return whether nothing is wrong.
        """
        return self.problem_count == 0

    def note(self, problem: str) -> None:
        """
        Take a problem.
        """
        self.problem_count += 1
        if len(self.problems) < SHOWN_PROBLEMS:
            self.problems.append(problem)


def verify_index(
    index: str, tenant: str, store: IndexStore, *, of_build: bool = False, samples: int = SAMPLES
) -> Verified:
    """
    Check every point of a tenant's head, or of its build that waits.

    Sections have to be the text, chunks slices of their sections, hashes right, and nothing
    readable that the ledger does not name.

    Raises:
        IndexUnknown: The tenant has nothing in this index.
        InvalidRequest: No build waits.
    """
    with store.reading(index, tenant, of_build=of_build) as part:
        ledger, manifest = part.ledger, part.manifest
        if ledger.generation is None or manifest is None:
            raise IndexUnknown(index)
        found = Verified(f"{ledger.generation}.{ledger.revision}")
        points = part.points()
        rows = [row for row in ledger.rows if ledger.revision < row.to_rev]
        chunks: list[tuple[LedgerRow, Chunk]] = []
        for row in rows:
            chunks += _checked_row(tenant, ledger.revision, row, points, found)
        _check_orphans(tenant, ledger.revision, points, found)
        version = IndexVersion(ledger.generation, ledger.revision)
        readable = [pair for pair in chunks if pair[0].readers != ()]
        step = max(len(readable) // samples, 1) if samples else 1
        for row, chunk in readable[::step][:samples]:
            asked = Scope(tenant, row.readers, versions=VersionPolicy.ALL)
            scope = ReadScope(index, version, ledger.readers_required, asked)
            _search(scope, row, chunk, part, points, found)
        return found


def _checked_row(
    tenant: str, revision: int, row: LedgerRow, points: PointReader, found: Verified
) -> list[tuple[LedgerRow, Chunk]]:
    """
    Check the points of a source version, and return some of its chunks.
    """
    name = f"{row.source_id}@{row.version}"
    wanted = of_tenant(
        tenant,
        Condition(SOURCE_ID, AnyString((row.source_id,))),
        Condition(VERSION, AnyString((row.version,))),
        Condition(CONTENT_SHA256, AnyString((row.content_sha256,))),
        Condition(FROM_REV, IntRange(row.from_rev, row.from_rev + 1)),
    )
    sections: list[Section] = []
    chunks: list[tuple[Chunk, str]] = []
    for payload in points.payloads(wanted):
        try:
            if payload.get(KIND) == PointKind.SECTION.value:
                sections.append(decode_section(payload, revision))
            else:
                chunks.append((decode_chunk(payload, revision), decode_text(payload)))
        except PayloadDamaged as error:
            found.note(f"{name}: a point is damaged at {error}")
    for problem in _problems(row, sections, chunks):
        found.note(f"{name}: {problem}")
    found.sources += 1
    found.sections += len(sections)
    found.chunks += len(chunks)
    return [(row, chunk) for chunk, _ in chunks[:: max(len(chunks) // 2, 1)]]


def _problems(
    row: LedgerRow, sections: Sequence[Section], chunks: Sequence[tuple[Chunk, str]]
) -> Iterator[str]:
    if (len(sections), len(chunks)) != (row.sections, row.chunks):
        yield (
            f"has {len(sections)} sections and {len(chunks)} chunks, the ledger says "
            f"{row.sections} and {row.chunks}"
        )
    text, by_key = "", {}
    for section in sorted(sections, key=lambda section: section.span):
        by_key[section.key] = section
        if section.span.start != len(text):
            yield f"section {section.key} begins at {section.span.start}, not at {len(text)}"
        text += section.text
    if sha256_of(text) != row.content_sha256:
        yield "its sections together are not its text"
    ends = {(row.active_to_rev, row.to_rev)}
    parts: Sequence[Section | Chunk] = (*sections, *(chunk for chunk, _ in chunks))
    if {(one.provenance.active_to_rev, one.provenance.to_rev) for one in parts} - ends:
        yield "points end at another revision than the ledger says"
    for chunk, own in chunks:
        problem = _misplaced(chunk, own, by_key.get(chunk.section_key))
        if problem:
            yield f"chunk {chunk.key} {problem}"


def _misplaced(chunk: Chunk, own: str, parent: Section | None) -> str:
    if parent is None:
        return "has no section"
    if not parent.span.contains(chunk.span):
        return "lies outside its section"
    if parent.slice(chunk.span) != own or sha256_of(own) != chunk.text_sha256:
        return "is not the text of its section at its offsets"
    return ""


def _check_orphans(tenant: str, revision: int, points: PointReader, found: Verified) -> None:
    readable = of_tenant(
        tenant,
        Condition(FROM_REV, IntRange(below=revision + 1)),
        Condition(TO_REV, IntRange(at_least=revision + 1)),
    )
    extra = points.count(readable) - found.sections - found.chunks
    if extra > 0:
        found.note(f"{extra} readable points are of no source version of the ledger")


def _search(
    scope: ReadScope,
    row: LedgerRow,
    chunk: Chunk,
    part: PartReader,
    points: PointReader,
    found: Verified,
) -> None:
    """
    Search for a chunk by its own vector and text; a chunk of equal text will do.
    """
    own = Filter(
        all_of=(scope.point_filter(PointKind.CHUNK), Condition(KEY, AnyString((chunk.key,))))
    )
    manifest = part.manifest
    vector = next((vector for _, vector in points.vectors(own)), None)
    text = next((decode_text(payload) for payload in points.payloads(own)), None)
    if manifest is None or vector is None or text is None:
        found.note(f"{row.source_id}@{row.version}: chunk {chunk.key} has no vector")
        return
    wanted = Wanted(scope)
    queries = [vector_query(DenseSearch(vector, REACH), wanted, is_exact=True)]
    weights = Bm25Encoder(manifest.bm25).query(text, (row.language,))
    if not weights.is_empty:
        search = SparseSearch(text, PointKind.CHUNK, REACH)
        queries.append(text_query(scope, search, wanted, weights))
    by_vector, *by_text = points.query(queries)
    found.samples += 1
    if any(_is_same(chunk, hit.payload) for hit in by_vector):
        found.found_by_vector += 1
    else:
        found.note(f"{row.source_id}@{row.version}: chunk {chunk.key} is not found by its vector")
    found.found_by_text += any(_is_same(chunk, hit.payload) for hits in by_text for hit in hits)


def _is_same(chunk: Chunk, payload: Payload) -> bool:
    return payload.get(KEY) == chunk.key or payload.get(TEXT_SHA256) == chunk.text_sha256
