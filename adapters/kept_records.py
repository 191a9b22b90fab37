"""
Decoded records of embedded points, kept in memory within a limit of bytes.

An opened state is never written to, so that what was read of a point holds as long as the state is
open; whether a request may see it is asked of its scope each time.
"""

from __future__ import annotations

import sys
import threading
import uuid
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

from adapters.decoded import Record
from assembler.model import Section

MOST_BYTES = 64 * 1024 * 1024
"""Of all kept records together, by a rough count."""

HIT_BYTES = 1024
SECTION_BYTES = 2048
PART_BYTES = 256
"""Of what searches need of a point, of a section, and of each of its chunks, borders and blocks."""

METADATA_BYTES = 6
"""Of each character of a section's metadata as Python writes them: small numbers take most."""

Item = TypeVar("Item")
PointId: TypeAlias = int | uuid.UUID | str
"""As the engine has it."""


class Shelf(Generic[Item]):
    """
    Records of one revision of one shard, decoded for one use.
    """

    def __init__(self) -> None:
        self.records: dict[PointId, Record[Item]] = {}


class KeptRecords:
    """
    The records of all shelves; the first that came are the first to go. Any number of threads may
    use it.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._queue: deque[tuple[Shelf[Any], PointId, int]] = deque()
        self.bytes = 0
        self._hits, self._misses = 0, 0

    def requests(self) -> tuple[int, int]:
        """
        Return how many records were known, and how many had to be read.
        """
        return self._hits, self._misses

    def asked(self, known: int, missing: int) -> None:
        """
        Count a look for records.
        """
        with self._lock:
            self._hits += known
            self._misses += missing

    def keep(self, shelf: Shelf[Item], records: Mapping[PointId, Record[Item]]) -> None:
        """
        Keep records, and let go of others where there is no room.
        """
        with self._lock:
            for point, record in records.items():
                if point not in shelf.records:
                    size = bytes_of(record)
                    shelf.records[point] = record
                    self._queue.append((shelf, point, size))
                    self.bytes += size
            while self.bytes > self._most_bytes:
                self._forget(*self._queue.popleft())

    def clear(self, shelves: Iterable[Shelf[Any]]) -> None:
        """
        Let go of all records of some shelves.
        """
        gone = {id(shelf) for shelf in shelves}
        with self._lock:
            queue, self._queue = self._queue, deque()
            for entry in queue:
                if id(entry[0]) in gone:
                    self._forget(*entry)
                else:
                    self._queue.append(entry)

    def _forget(self, shelf: Shelf[Any], point: PointId, size: int) -> None:
        del shelf.records[point]
        self.bytes -= size


def bytes_of(record: Record[Any]) -> int:
    """
    Return about how many bytes a record takes.
    """
    section = record.item
    if not isinstance(section, Section):
        return HIT_BYTES
    parts = len(section.chunk_spans) + len(section.borders) + len(section.blocks)
    metadata = len(repr(section.metadata)) * METADATA_BYTES if section.metadata else 0
    return SECTION_BYTES + sys.getsizeof(section.text) + PART_BYTES * parts + metadata
