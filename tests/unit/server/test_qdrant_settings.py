"""
What of the Qdrant part of the configuration is refused at the start, and where the rest arrives.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from adapters.collection_settings import CollectionSettings, Quantization
from adapters.qdrant_connection import Tls, TlsFiles
from server.backend import make_backend
from server.qdrant_backend import collection_settings, qdrant_server
from server.settings import Settings

HTTPS = {"qdrant_url": "https://qdrant.example:6334"}


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"qdrant_url": "qdrant:6334"}, "qdrant_url"),
        ({"qdrant_ca_file": Path("ca.pem")}, "qdrant_url of https"),
        (HTTPS | {"qdrant_client_cert_file": Path("a")}, "given together"),
        (HTTPS | {"qdrant_ca_file": Path("/missing/ca.pem")}, "/missing/ca.pem is no file"),
        ({"qdrant_write_consistency": 2}, "there are 1 qdrant_replicas"),
        ({"qdrant_replicas": 3, "qdrant_write_consistency": 2}, "majority"),
        (
            {
                "qdrant_replicas": 4,
                "qdrant_write_consistency": 2,
                "qdrant_read_consistency": "majority",
            },
            "more than half",
        ),
        ({"qdrant_read_consistency": "most"}, "qdrant_read_consistency"),
        ({"qdrant_read_consistency": 0}, "qdrant_read_consistency"),
        ({"qdrant_hnsw_m": 0}, "qdrant_hnsw_payload_m"),
        ({"qdrant_oversampling": 2.0}, "qdrant_quantization"),
        ({"qdrant_quantization": "ternary"}, "qdrant_quantization"),
        ({"qdrant_shards": 0}, "qdrant_shards"),
        ({"qdrant_retries": 6}, "qdrant_retries"),
    ],
)
def test_what_cannot_work_is_refused_by_name(given: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        Settings(**given)


def test_a_write_of_most_replicas_goes_with_reads_of_most() -> None:
    settings = Settings(
        qdrant_replicas=3, qdrant_write_consistency=2, qdrant_read_consistency="majority"
    )

    assert collection_settings(settings).write_consistency == 2


def test_every_choice_of_collections_arrives() -> None:
    settings = Settings(
        qdrant_shards=2,
        qdrant_replicas=3,
        qdrant_write_consistency=3,
        qdrant_hnsw_m=0,
        qdrant_hnsw_payload_m=24,
        qdrant_hnsw_ef_construct=200,
        qdrant_quantization="binary",
        qdrant_vectors_on_disk=True,
        qdrant_payload_on_disk=False,
    )

    assert collection_settings(settings) == CollectionSettings(
        shards=2,
        replicas=3,
        write_consistency=3,
        hnsw_m=0,
        hnsw_payload_m=24,
        hnsw_ef_construct=200,
        quantization=Quantization.BINARY,
        vectors_on_disk=True,
        payload_on_disk=False,
    )


def test_the_address_says_how_it_is_spoken_to(tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("ca", "certificate", "key")}
    for name, path in files.items():
        path.write_text(name, encoding="utf-8")
    settings = Settings(
        **HTTPS,
        qdrant_api_key="secret",
        qdrant_ca_file=files["ca"],
        qdrant_client_cert_file=files["certificate"],
        qdrant_client_key_file=files["key"],
        qdrant_timeout_seconds=3.0,
        qdrant_write_timeout_seconds=9.0,
        qdrant_retries=0,
    )

    place = qdrant_server(settings)

    assert (place.host, place.grpc_port, place.api_key) == ("qdrant.example", 6334, "secret")
    assert isinstance(place.tls, TlsFiles)
    assert place.tls.contents() == Tls(b"ca", b"certificate", b"key")
    assert (place.timeout_seconds, place.write_timeout_seconds, place.retries) == (3.0, 9.0, 0)
    assert "secret" not in repr(place)
    assert "b'key'" not in repr(place)


def test_plaintext_has_no_tls() -> None:
    assert qdrant_server(Settings(qdrant_url="http://qdrant")).tls is None
    assert qdrant_server(Settings(qdrant_url="http://qdrant")).grpc_port == 6334


async def test_a_service_that_was_never_asked_counts_as_answering() -> None:
    backend = make_backend(Settings(qdrant_url="http://127.0.0.1:1"))

    assert backend.index.is_answering  # type: ignore[union-attr]
    await backend.close()
