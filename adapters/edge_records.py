"""
Reads of one revision of an opened shard: which points, the engine says each time; what a point
holds is read and decoded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from adapters.decoded import Decoder, Record, ScoredRecord
from adapters.edge_shard import EdgeShard
from adapters.kept_records import KeptRecords, PointId, Shelf
from adapters.payload import decode_section
from adapters.payload_values import Payload
from adapters.searches import PointQuery
from assembler.filters import Filter
from assembler.model import Chunk, PointKind, Section

Item = TypeVar("Item")


class EdgeRecords:
    """
    Searches and reads sections, in any number of threads.
    """

    def __init__(self, shard: EdgeShard, revision: int, kept: KeptRecords) -> None:
        self._shard = shard
        self._decoder = Decoder(revision)
        self._kept = kept
        self._hits = {kind: Shelf[Chunk | None]() for kind in PointKind}
        self._sections = Shelf[Section]()

    @property
    def shelves(self) -> list[Shelf[Chunk | None] | Shelf[Section]]:
        """
        Return where its records are kept.
        """
        return [*self._hits.values(), self._sections]

    def search(self, queries: Sequence[PointQuery]) -> list[list[ScoredRecord]]:
        """
        Return the results of a batch of searches.
        """
        decode = self._decoder.hit
        found: list[list[ScoredRecord]] = []
        for query, points in zip(queries, self._shard.search(queries), strict=True):
            ids = [point for point, _ in points]
            records = self._read(self._hits[query.kind], ids, query.keys, query.kind, decode)
            scores = (score for _, score in points)
            found.append(list(map(ScoredRecord, scores, records)))
        return found

    def sections(self, wanted: Filter, page: int) -> list[Record[Section] | None]:
        """
        Return all sections that pass, None for one that does not hold what was written.
        """

        def decode(payload: Payload, kind: PointKind) -> Record[Section] | None:
            return self._decoder.record(payload, kind, decode_section)

        ids = self._shard.ids(wanted, page)
        return self._read(self._sections, ids, None, PointKind.SECTION, decode)

    def _read(
        self,
        shelf: Shelf[Item],
        ids: Sequence[PointId],
        keys: tuple[str, ...] | None,
        kind: PointKind,
        decode: Callable[[Payload, PointKind], Record[Item] | None],
    ) -> list[Record[Item] | None]:
        found = [shelf.records.get(point) for point in ids]
        missing = [point for point, record in zip(ids, found, strict=True) if record is None]
        self._kept.asked(len(ids) - len(missing), len(missing))
        if not missing:
            return found
        read = ((point, decode(one, kind)) for point, one in self._shard.payloads_of(missing, keys))
        made = {point: record for point, record in read if record is not None}
        self._kept.keep(shelf, made)
        return [
            made.get(point) if record is None else record
            for point, record in zip(ids, found, strict=True)
        ]
