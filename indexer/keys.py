"""
Stable keys: equal for equal text cut equally, whenever it is indexed.
"""

from __future__ import annotations

import uuid

from assembler.model import PointKind
from assembler.span import Span

NAMESPACE = uuid.UUID("6f3f1f1e-6a55-5e0b-9d0e-0d1a3f0c7b52")


def key_of(
    kind: PointKind,
    *,
    tenant: str,
    source_id: str,
    version: str,
    content_sha256: str,
    chunker: str,
    span: Span,
) -> str:
    """
    Return the UUIDv5 over all parts, each with its length before it so that none can run on.
    """
    parts = (
        *(kind.value, tenant, source_id, version, content_sha256, chunker),
        *(str(span.start), str(span.end)),
    )
    return str(uuid.uuid5(NAMESPACE, "".join(f"{len(part)}:{part}" for part in parts)))
