"""
Chunks whose section cannot be used, in parents made of their own texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from assembler.model import Chunk, Section, VersionKey
from assembler.parent import Parent
from assembler.rank import Candidate
from assembler.rebuild import Piece, rebuild
from assembler.span import Span


def orphans(
    candidates: Sequence[Candidate], own_texts: Mapping[tuple[str, str], str]
) -> dict[tuple[str, str], Parent]:
    """
    Return a parent made of own texts per candidate whose own text is known and as it was hashed.

    Args:
        candidates: Those whose section cannot be used.
        own_texts: Texts of chunks by index name and chunk key.
    """
    by_version: dict[VersionKey, list[Candidate]] = {}
    for candidate in candidates:
        text = own_texts.get(candidate.identity)
        if text is not None and sha256_of(text) == candidate.chunk.text_sha256:
            by_version.setdefault(candidate.version, []).append(candidate)
    found: dict[tuple[str, str], Parent] = {}
    for version, members in by_version.items():
        pieces = [
            Piece(one.chunk.span, own_texts[one.identity])
            for one in members
            if len(own_texts[one.identity]) == one.chunk.span.length
        ]
        for run in rebuild(pieces).runs:
            inside = [one for one in members if run.span.contains(one.chunk.span)]
            inside = [
                one
                for one in inside
                if sha256_of(run.slice(one.chunk.span)) == one.chunk.text_sha256
            ]
            first = min(inside, key=lambda one: one.chunk.span)
            cuts = tuple(sorted({one.chunk.span for one in inside}))
            parent = Parent(orphan(first.chunk, run.text, cuts), version, first.target)
            found.update({one.identity: parent for one in inside})
    return found


def orphan(chunk: Chunk, text: str, cuts: tuple[Span, ...] = ()) -> Section:
    """
    Return a section that holds nothing but a chunk's own text, or that of touching chunks.

    Args:
        chunk: The first of them.
        text: Their text together.
        cuts: Their spans, where there are several.
    """
    return Section(
        key=chunk.key,
        provenance=chunk.provenance,
        span=Span(chunk.span.start, chunk.span.start + len(text)),
        ordinal=0,
        text=text,
        text_sha256=sha256_of(text),
        heading_path=(),
        title="",
        uri="",
        media_type="",
        language="",
        first_chunk_ordinal=chunk.ordinal,
        chunk_spans=cuts or (chunk.span,),
        borders=(),
    )


def sha256_of(text: str) -> str:
    """
    Return the hash of a text's UTF-8 bytes, lone surrogates passed through.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
