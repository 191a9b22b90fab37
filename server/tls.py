"""
TLS of the gRPC port: certificate, key and client authority, read again when they change.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import grpc

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger


class TlsInvalid(Exception):
    """
    The TLS files cannot be used; names setting, file and remedy.
    """

    def __init__(self, setting: str, path: Path, problem: str) -> None:
        super().__init__(f"CONTEXT_ASSEMBLER_{setting.upper()}: {path}: {problem}")


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """
    Where the PEM files are.

    Attributes:
        client_ca: Who signs clients' certificates; with it no client connects without one.
    """

    certificate: Path
    key: Path
    client_ca: Path | None


@dataclass(frozen=True, slots=True)
class _Contents:
    certificate: bytes
    key: bytes
    client_ca: bytes | None


def server_credentials(files: TlsFiles, logger: FilteringBoundLogger) -> grpc.ServerCredentials:
    """
    Return credentials that look at the files at every handshake; a broken change is logged and the
    earlier files serve on.

    Raises:
        TlsInvalid: A file cannot be read, or the key is not the certificate's.
    """
    served = _read(files)
    refused = ""

    def changed() -> grpc.ServerCertificateConfiguration | None:
        nonlocal served, refused
        found, problem = served, ""
        try:
            found = _read(files)
        except TlsInvalid as error:
            problem = str(error)
        if problem and problem != refused:
            logger.error("tls files refused, the earlier ones serve on", problem=problem)
        refused = problem
        if found == served:
            return None
        served = found
        logger.info("tls files read again")
        return _configuration(found)

    return grpc.dynamic_ssl_server_credentials(
        _configuration(served),
        changed,  # type: ignore[arg-type] # None keeps what is served
        require_client_authentication=files.client_ca is not None,
    )


def _configuration(contents: _Contents) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration(
        [(contents.key, contents.certificate)], root_certificates=contents.client_ca
    )


def _read(files: TlsFiles) -> _Contents:
    """
    Return the files' bytes, checked by the standard library's own TLS.
    """
    contents = _Contents(
        _bytes("tls_certificate_file", files.certificate),
        _bytes("tls_key_file", files.key),
        None if files.client_ca is None else _bytes("tls_client_ca_file", files.client_ca),
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # an empty password fails at once where the library would ask on the terminal
        context.load_cert_chain(files.certificate, files.key, password="")
    except (OSError, ValueError) as error:
        problem = "is not the PEM key, without a password, of the certificate"
        raise TlsInvalid("tls_key_file", files.key, problem) from error
    if files.client_ca is not None:
        try:
            context.load_verify_locations(files.client_ca)
        except (OSError, ValueError) as error:
            problem = "holds no PEM certificate of an authority"
            raise TlsInvalid("tls_client_ca_file", files.client_ca, problem) from error
    return contents


def _bytes(setting: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise TlsInvalid(setting, path, f"cannot be read: {error.strerror}") from error
