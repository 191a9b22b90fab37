"""
Stored vectors that need not be embedded again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adapters.payload_keys import CONTENT_SHA256, FROM_REV, INPUT_SHA256, KIND, SOURCE_ID
from adapters.payload_values import PayloadDamaged, checked_text
from adapters.place import StoredPoints, of_tenant
from adapters.records import TenantLedger
from adapters.store import Manifest
from assembler.filters import AnyString, Condition, Filter, IntRange
from assembler.model import FOREVER, PointKind
from assembler.ports import Vector


class StoredVectors:
    """
    The vectors that a tenant's part of an index holds.

    A vector is used again where the complete embedding input is the same (`input_sha256`) and
    everything that turns inputs into vectors (`EmbeddingSpec`) is.
    """

    def __init__(self, place: StoredPoints, tenant: str, ledger: TenantLedger) -> None:
        self._place = place
        self._tenant = tenant
        rows = (*ledger.rows, *ledger.earlier)
        self._sources = {row.source_id for row in rows}
        self._texts = {row.content_sha256 for row in rows}
        self._leftovers: dict[str, bool] = {}

    def reusable(
        self,
        source_id: str,
        content_sha256: str | None,
        target: Manifest,
        generations: Sequence[str],
    ) -> Mapping[str, Vector]:
        """
        Return the vectors of a source or text by `input_sha256`.
        """
        found: dict[str, Vector] = {}
        is_known = source_id in self._sources or content_sha256 in self._texts
        named = Condition(SOURCE_ID, AnyString((source_id,)))
        same = Condition(CONTENT_SHA256, AnyString((content_sha256 or "",)))
        wanted = of_tenant(
            self._tenant,
            Condition(KIND, AnyString((PointKind.CHUNK.value,))),
            Filter(any_of=(named, same)),
        )
        for generation in generations:
            manifest = self._place.manifests().get(generation)
            if manifest is None or manifest.embedding != target.embedding:
                continue
            if not is_known and not self._has_leftovers(generation):
                continue
            for payload, vector in self._place.writer(generation).vectors(wanted):
                try:
                    found[checked_text(payload, INPUT_SHA256)] = vector
                except PayloadDamaged:
                    continue
        return found

    def _has_leftovers(self, generation: str) -> bool:
        """
        Return whether a run that was broken off has left points, which no ledger names.
        """
        if generation not in self._leftovers:
            put_aside = Condition(FROM_REV, IntRange(at_least=FOREVER))
            count = self._place.writer(generation).count(of_tenant(self._tenant, put_aside))
            self._leftovers[generation] = count > 0
        return self._leftovers[generation]
