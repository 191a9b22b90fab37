"""
Vectors of a run that is not published yet, on the disk as soon as they are made.

The embedded engine writes without a log: what it has not flushed is lost with the process. So
vectors, the dear part, are appended to a file of their own, and the next run takes them from there.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zlib
from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np

from adapters.store import EmbeddingSpec
from assembler.ports import Vector

_MAGIC = b"vectors1"
_DIGEST = 32
_CHECK = struct.Struct("<I")


class VectorJournal:
    """
    The journal of one index; a record is the input's hash, the vector and a checksum of both.
    """

    def __init__(self, path: Path, spec: EmbeddingSpec) -> None:
        self._path = path
        shape = json.dumps(asdict(spec), sort_keys=True).encode()
        self._head = _MAGIC + hashlib.sha256(shape).digest()
        self._size = _DIGEST + 4 * spec.model.dimension + _CHECK.size
        self._known: dict[bytes, int] | None = None

    def read(self, inputs: Collection[str]) -> dict[str, Vector]:
        """
        Return the vectors of embedding inputs by `input_sha256`, as far as they are there.
        """
        known = self._records()
        wanted = [(one, known[key]) for one in inputs if (key := bytes.fromhex(one)) in known]
        found: dict[str, Vector] = {}
        if wanted:
            with self._path.open("rb") as file:
                for one, offset in wanted:
                    file.seek(offset + _DIGEST)
                    vector: list[float] = np.frombuffer(
                        file.read(self._size - _DIGEST - _CHECK.size), dtype="<f4"
                    ).tolist()
                    found[one] = vector
        return found

    def append(self, vectors: Mapping[str, Vector]) -> None:
        """
        Add vectors; they are on the disk when this returns.

        What another configuration has left is dropped, and so is a record that was torn.
        """
        known = self._records()
        end = len(self._head) + len(known) * self._size
        with self._path.open("r+b" if self._path.exists() else "w+b") as file:
            file.truncate(end if known else 0)
            file.seek(0)
            file.write(self._head)
            file.seek(end)
            for one, vector in vectors.items():
                key = bytes.fromhex(one)
                body = key + np.asarray(vector, dtype="<f4").tobytes()
                file.write(body + _CHECK.pack(zlib.crc32(body)))
                known[key] = end
                end += self._size
            file.flush()
            os.fsync(file.fileno())

    def _records(self) -> dict[bytes, int]:
        """
        Return where each record stands; the first that does not hold ends the journal.
        """
        if self._known is not None:
            return self._known
        self._known = {}
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            return self._known
        with file:
            if file.read(len(self._head)) != self._head:
                return self._known
            offset = len(self._head)
            while len(record := file.read(self._size)) == self._size:
                body, check = record[: -_CHECK.size], record[-_CHECK.size :]
                key = body[:_DIGEST]
                if _CHECK.unpack(check) != (zlib.crc32(body),) or key in self._known:
                    break
                self._known[key] = offset
                offset += self._size
        return self._known
