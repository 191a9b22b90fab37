"""
Stable keys: equal for equal text cut equally, whenever it is indexed.
"""

from __future__ import annotations

import uuid

from assembler.model import PointKind, Provenance
from assembler.span import Span

NAMESPACE = uuid.UUID("6f3f1f1e-6a55-5e0b-9d0e-0d1a3f0c7b52")


def key_of(kind: PointKind, origin: Provenance, span: Span, *, chunker: str) -> str:
    """
    Return the UUIDv5 over all parts, each with its length before it so that none can run on.

    Args:
        kind: Whether a section or a chunk is named.
        origin: The source and its version.
        span: Where it stands in the source.
        chunker: The fingerprint of what cut it.
    """
    parts = (
        *(kind.value, origin.tenant, origin.source_id, origin.version, origin.content_sha256),
        chunker,
        *(str(span.start), str(span.end)),
    )
    return str(uuid.uuid5(NAMESPACE, "".join(f"{len(part)}:{part}" for part in parts)))
