"""
The check of what came back from an engine, and what of its refusals is a matter of access.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from assembler.filters import Filter
from assembler.model import Provenance
from assembler.scope import ReadScope, RecordGate


class ScopeGate:
    """
    Tells of records whether they lie in a scope, and of the others whether they had to be denied.

    Engines compare integers as doubles, so that a range beyond 2**53 in the caller's own filter
    brings back more than it asked for: dropped like the rest, but nobody's data.
    """

    def __init__(self, scope: ReadScope) -> None:
        self._scope = scope
        self._gate = scope.gate()

    def admits(self, provenance: Provenance) -> bool:
        """
        Return whether a record may be used.
        """
        return self._gate.admits(provenance)

    def is_denied(self, provenance: Provenance) -> bool:
        """
        Return whether tenant, readers, revision, versions or source ids refuse a record.
        """
        return not self._unfiltered.admits(provenance)

    @cached_property
    def _unfiltered(self) -> RecordGate:
        asked = replace(self._scope.asked, filter=Filter())
        return replace(self._scope, asked=asked).gate()
