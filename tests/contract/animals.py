"""
Small sources about animals, two of them versions of one, and what is kept and read of them.
"""

from __future__ import annotations

from dataclasses import replace

from adapters.records import Retention
from assembler.model import PointKind
from assembler.ports import SparseSearch
from assembler.scope import Scope
from assembler.source_text import SourceRequest, read_source
from tests.contract.conftest import Backend
from tests.contract.corpus import Source

CATS = Source("cats", ("Cats sleep all day. Cats hunt at night.", "A cat purrs."))
NEW_CATS = replace(CATS, sections=("Cats sleep at night. Cats eat.",), version="v2")
DOGS = Source("dogs", ("Dogs bark at cats.",))
BIRDS = Source("birds", ("Birds sing.",))
ALL = (CATS, NEW_CATS, DOGS, BIRDS)
SEARCH = [SparseSearch("cats", PointKind.CHUNK, 5)]
ONE = Retention(revisions=1, retired_seconds=0.0)


def names(*sources: Source) -> set[tuple[str, str]]:
    """
    Return ids and versions, as `readable` returns them.
    """
    return {(source.source_id, source.version) for source in sources}


async def text_of(backend: Backend, source: Source) -> str:
    """
    Return the text of a version, read back from the index.
    """
    asked = SourceRequest("docs", Scope(), source.source_id, source.version, None, 0, None)
    return (await read_source(asked, backend.reading, backend.reading)).text
