"""
The metric of kept records: the embedded index counts its own, a server's are never kept.
"""

from __future__ import annotations

from pathlib import Path

from adapters.edge_index import EdgeIndex
from adapters.qdrant_index import QdrantIndex
from server.backend import make_backend, records_of
from server.settings import Settings


async def test_an_embedded_index_begins_with_nothing_known(tmp_path: Path) -> None:
    backend = make_backend(Settings(data_dir=tmp_path))

    assert isinstance(backend.index, EdgeIndex)
    assert records_of(backend) == (0, 0)
    await backend.close()


async def test_of_a_server_nothing_is_kept() -> None:
    backend = make_backend(Settings(qdrant_url="http://127.0.0.1:1"))

    assert isinstance(backend.index, QdrantIndex)
    assert records_of(backend) == (0, 0)
    await backend.close()
