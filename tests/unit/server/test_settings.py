"""
What settings contradict each other, and TLS files that cannot be used.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import structlog
from pydantic import ValidationError

from assembler.ports import ModelIdentity
from server.bootstrap import make_embedder
from server.settings import Settings
from server.tls import TlsFiles, TlsInvalid, server_credentials

TLS = Path(__file__).parents[2] / "tls"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"tls_certificate_file": "a"}, "tls_certificate_file and tls_key_file need each other"),
        ({"tls_key_file": "a"}, "tls_certificate_file and tls_key_file need each other"),
        ({"tls_client_ca_file": "a", "api_keys_file": "b"}, "needs tls_certificate_file"),
        (
            {"tls_client_ca_file": "a", "tls_certificate_file": "b", "tls_key_file": "c"},
            "tls_client_ca_file needs api_keys_file",
        ),
    ],
)
def test_settings_of_tls_are_whole(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        Settings(**given)


async def test_an_endpoint_is_the_model_that_the_settings_vouch_for() -> None:
    named = {"embedder_url": "http://localhost:1", "embedder_model": "m", "embedder_dimension": 7}
    vouched = make_embedder(Settings(**named, embedder_sha256="2" * 64))
    unknown = make_embedder(Settings(**named))

    assert vouched.identity == ModelIdentity("m", "2" * 64, 7)
    assert (
        unknown.identity.sha256
        != make_embedder(Settings(**{**named, "embedder_model": "n"})).identity.sha256
    )


def test_a_port_that_kubernetes_has_set_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXT_ASSEMBLER_PORT", "tcp://10.0.0.1:50051")

    with pytest.raises(ValidationError, match="enableServiceLinks: false"):
        Settings()


def test_no_deadline_is_longer_than_a_version_lasts() -> None:
    assert Settings().default_deadline_seconds == 30
    with pytest.raises(ValidationError, match="default_deadline_seconds"):
        Settings(default_deadline_seconds=30.5)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (
            ("missing.pem", "server.key", None),
            "TLS_CERTIFICATE_FILE: .*missing.pem: cannot be read",
        ),
        (("server.pem", "missing.key", None), "TLS_KEY_FILE: .*missing.key: cannot be read"),
        (("server.pem", "chat.key", None), "TLS_KEY_FILE: .*chat.key: is not the PEM key"),
        (("README.md", "server.key", None), "TLS_KEY_FILE: .*server.key: is not the PEM key"),
        (("server.pem", "server.key", "README.md"), "TLS_CLIENT_CA_FILE: .* holds no PEM"),
        (("server.pem", "server.key", "missing.pem"), "TLS_CLIENT_CA_FILE: .*cannot be read"),
    ],
)
def test_tls_files_that_cannot_be_used_are_named(
    files: tuple[str, str, str | None], says: str
) -> None:
    certificate, key, authority = (None if name is None else TLS / name for name in files)
    assert certificate is not None
    assert key is not None

    with pytest.raises(TlsInvalid, match=says):
        server_credentials(TlsFiles(certificate, key, authority), structlog.get_logger())
