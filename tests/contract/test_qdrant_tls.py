"""
How the connection to a Qdrant server proves itself, and whom it believes.
"""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest

from adapters.qdrant_connection import QdrantServer, Tls, TlsFiles
from adapters.qdrant_index import QdrantIndex
from adapters.qdrant_store import QdrantStore
from assembler.errors import IndexUnavailable, IndexUnknown
from tests.contract.corpus import publish
from tests.contract.qdrant_reader import CATS, until
from tests.qdrant_server.certificates import Pair, authority, signed
from tests.qdrant_server.server import TestServer


def credentials_of(served: Pair, own: Pair) -> grpc.ServerCredentials:
    """
    Return the credentials of a server that wants clients whom an authority has signed.
    """
    return grpc.ssl_server_credentials(
        [served.read()],
        root_certificates=own.certificate.read_bytes(),
        require_client_auth=True,
    )


async def test_tls_with_an_authority_of_its_own(tmp_path: Path) -> None:
    own, other = authority(tmp_path, "own"), authority(tmp_path, "other")
    served, client = signed(tmp_path, "server", own), signed(tmp_path, "client", own)
    credentials = credentials_of(served, own)
    key, certificate = client.read()
    right = Tls(ca=own.certificate.read_bytes(), certificate=certificate, key=key)
    wrong = (
        None,
        Tls(ca=other.certificate.read_bytes(), certificate=certificate, key=key),
        Tls(ca=own.certificate.read_bytes()),
    )
    with TestServer(api_key="key", credentials=credentials) as server:

        def place(tls: Tls | None, key: str = "key") -> QdrantServer:
            return QdrantServer("127.0.0.1", grpc_port=server.port, tls=tls, api_key=key, retries=0)

        store = QdrantStore(place(right))
        publish(store, [CATS])
        store.close()
        index = QdrantIndex(place(right))
        assert (await index.resolve("docs", "")).version.revision == 1
        await index.close()
        for tls in wrong[1:]:
            index = QdrantIndex(place(tls))
            with pytest.raises(IndexUnavailable):
                await index.resolve("docs", "")
            await index.close()
        index = QdrantIndex(place(right, "wrong"))
        with pytest.raises(IndexUnavailable, match="API key"):
            await index.resolve("docs", "")
        await index.close()


async def test_renewed_client_certificates_are_taken_without_a_restart(tmp_path: Path) -> None:
    own, other = authority(tmp_path, "own"), authority(tmp_path, "other")
    served, refused = signed(tmp_path, "server", own), signed(tmp_path, "client", other)
    credentials = credentials_of(served, own)
    files = TlsFiles(own.certificate, refused.certificate, refused.key)
    with TestServer(credentials=credentials) as server:
        index = QdrantIndex(QdrantServer("127.0.0.1", grpc_port=server.port, tls=files, retries=0))
        with pytest.raises(IndexUnavailable):
            await index.resolve("docs", "")
        signed(tmp_path, "client", own)
        found: list[IndexUnknown] = []

        async def ask() -> None:
            try:
                await index.resolve("docs", "")
            except IndexUnavailable:
                return
            except IndexUnknown as unknown:
                found.append(unknown)

        await until(lambda: bool(found), ask)
        await index.close()

    before = files.contents()
    refused.key.unlink()
    assert files.contents() == before
    with pytest.raises(FileNotFoundError):
        TlsFiles(own.certificate, refused.certificate, refused.key)
