"""
Builds: revisions that are written and wait to be published.
"""

from __future__ import annotations

from adapters.head import Build
from adapters.payload_keys import FROM_REV
from adapters.place import Place, of_tenant
from assembler.errors import IndexUnusable, InvalidRequest
from assembler.filters import Condition, IntRange
from assembler.scope import IndexVersion


def no_build(index: str) -> InvalidRequest:
    """
    Return the error that there is nothing to publish.
    """
    return InvalidRequest(
        "index",
        f"{index!r} has no build that waits for this tenant; build it first (whatever else is "
        "written to the index discards a build)",
    )


def require_whole(index: str, place: Place, tenant: str, build: Build) -> IndexVersion:
    """
    Check that a build has all its points, and return its version.

    Raises:
        IndexUnusable: It has not.
    """
    head = build.head
    made = IntRange(head.revision, head.revision + 1)
    generation = head.generation or ""
    found = place.writer(generation).count(of_tenant(tenant, Condition(FROM_REV, made)))
    if found != build.points:
        problem = f"{build.points} points were built, {found} are stored; build again"
        raise IndexUnusable(index, problem)
    return IndexVersion(generation, head.revision)
