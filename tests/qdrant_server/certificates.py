"""
Certificates for one test, made by the `openssl` command.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")


@dataclass(frozen=True)
class Pair:
    """
    PEM files of a certificate and its key.
    """

    certificate: Path
    key: Path

    def read(self) -> tuple[bytes, bytes]:
        """
        Return the key and the certificate, in the order that gRPC takes them.
        """
        return self.key.read_bytes(), self.certificate.read_bytes()


def authority(folder: Path, name: str) -> Pair:
    """
    Make an authority of its own.
    """
    pair = _pair(folder, name)
    _openssl(
        *("req", "-x509", *_KEY, "-subj", f"/CN={name}"),
        *("-addext", "basicConstraints=critical,CA:TRUE"),
        *("-out", str(pair.certificate), "-keyout", str(pair.key)),
    )
    return pair


def signed(folder: Path, name: str, by: Pair) -> Pair:
    """
    Make a certificate for 127.0.0.1 that an authority has signed.
    """
    pair = _pair(folder, name)
    _openssl(
        *("req", "-x509", *_KEY, "-subj", f"/CN={name}"),
        *("-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=CA:FALSE"),
        *("-CA", str(by.certificate), "-CAkey", str(by.key)),
        *("-out", str(pair.certificate), "-keyout", str(pair.key)),
    )
    return pair


def _pair(folder: Path, name: str) -> Pair:
    return Pair(folder / f"{name}.pem", folder / f"{name}.key")


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)  # noqa: S607 - found on PATH, like any tool of a test
