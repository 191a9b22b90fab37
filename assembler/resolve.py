"""
From the asked scope to the one value that every read carries: pure checks on resolved states.
"""

from __future__ import annotations

from collections.abc import Sequence

from assembler.errors import (
    FilterFieldUnknown,
    IndexBehind,
    IndexUnusable,
    InvalidRequest,
    VersionGone,
    VersionUnknown,
)
from assembler.filters import AnyInt, AnyString, Condition, IntRange, IsBool
from assembler.model import FIELDS_PREFIX, FieldType
from assembler.ports import IndexState, ModelIdentity, SourceRow
from assembler.request import Query, RetrievalMode
from assembler.scope import IndexVersion, Pin, ReadScope, Scope

_COMPARED_BY = {
    FieldType.KEYWORD: "any_of_strings",
    FieldType.KEYWORD_LIST: "any_of_strings",
    FieldType.BOOL: "bool_value",
    FieldType.INT64: "any_of_ints or int_range",
    FieldType.TIMESTAMP: "timestamp_range",
}


def is_behind(state: IndexState, scope: Scope) -> bool:
    """
    Return whether a newer head may satisfy the scope.
    """
    least = scope.at_least or scope.exactly
    return least is not None and least.revision > state.version.revision


def read_scope(state: IndexState, scope: Scope, field: str) -> ReadScope:
    """
    Return the scope as of the index version that the request gets.

    Args:
        state: The index.
        scope: What the request asks to see of it.
        field: Where the request has its scope: "", or a path that ends in a point.

    Raises:
        IndexBehind: The head has not reached `at_least`.
        InvalidRequest: `at_least` names a version that the index never had.
        VersionGone: `exactly` cannot be read, any more or at all.
        FilterFieldUnknown: A filter does not agree with the schema.
    """
    if scope.at_least is not None and scope.at_least.revision > state.version.revision:
        raise IndexBehind(
            f"index {state.index!r} is at {state.version}, asked for at least {scope.at_least}"
        )
    _require_had(state, scope.at_least, f"{field}scope.at_least")
    for condition in scope.filter.conditions():
        _check_field(condition, state, f"{field}scope.filter")
    version = state.version if scope.exactly is None else _exactly(state, scope.exactly)
    return ReadScope(state.index, version, state.schema.readers_required, scope)


def _require_had(state: IndexState, least: IndexVersion | None, field: str) -> None:
    """
    Refuse a version of another index, or of one that had this name: a number is of one generation.

    What was before the present generation, and what was rolled back, may have been of any; so may
    revision 0, which is that of a tenant before its first publish.
    """
    if least is None or least.generation == state.version.generation or not least.revision:
        return
    if least.revision >= state.oldest_revision and least.revision not in state.gone:
        raise InvalidRequest(
            field,
            f"is {str(least)!r}, which index {state.index!r} never had for this tenant: its "
            f"revision {least.revision} is of generation {state.version.generation}; take it "
            "from a reply for this index and tenant, or leave it out",
        )


def _exactly(state: IndexState, wanted: IndexVersion) -> IndexVersion:
    is_same = wanted.generation == state.version.generation
    is_kept = state.oldest_revision <= wanted.revision <= state.version.revision
    if not is_same or not is_kept or wanted.revision in state.gone:
        raise VersionGone(str(wanted), (str(state.version),))
    return wanted


def _check_field(condition: Condition, state: IndexState, field: str) -> None:
    name = condition.field.removeprefix(FIELDS_PREFIX)
    kind = state.schema.fields.get(name)
    known = ", ".join(sorted(state.schema.fields)) or "none"
    if kind is None:
        raise FilterFieldUnknown(
            field,
            f"{name!r} is not a filterable field of index {state.index!r}; there are: {known}",
        )
    test = condition.test
    fits = (
        (isinstance(test, AnyString) and kind in (FieldType.KEYWORD, FieldType.KEYWORD_LIST))
        or (isinstance(test, AnyInt) and kind is FieldType.INT64)
        or (isinstance(test, IsBool) and kind is FieldType.BOOL)
        or (isinstance(test, IntRange) and test.is_time and kind is FieldType.TIMESTAMP)
        or (isinstance(test, IntRange) and not test.is_time and kind is FieldType.INT64)
    )
    if not fits:
        raise FilterFieldUnknown(
            field, f"{name!r} is of type {kind.value}, which is compared by {_COMPARED_BY[kind]}"
        )


def check_pins(pin: Pin, rows: Sequence[SourceRow], scope: ReadScope) -> None:
    """
    Check that a pinned version can be read.

    Raises:
        VersionUnknown: No version with this label was ever published to this reader.
        VersionGone: It has ended, or its source is purged.
    """
    named = [row for row in rows if row.is_purged or row.version == pin.version]
    seen = [row for row in named if is_readable(row, scope)]
    name = f"{pin.source_id}@{pin.version}"
    if not seen:
        raise VersionUnknown(name)
    revision = scope.version.revision
    if not any(row.from_rev <= revision < row.to_rev for row in seen):
        raise VersionGone(name)


def is_readable(row: SourceRow, scope: ReadScope) -> bool:
    """
    Return whether the principals of the scope may know of a source.
    """
    if row.readers is None:
        return not scope.readers_required
    return any(reader in (scope.asked.principals or ()) for reader in row.readers)


def check_section_vectors(states: Sequence[IndexState]) -> None:
    """
    Check that sections can be searched by vector.

    Raises:
        IndexUnusable: An index was made before sections had vectors.
    """
    for state in states:
        if not state.has_section_vectors:
            raise IndexUnusable(
                state.index,
                "made without vectors of sections, which retrieval.mode COARSE_TO_FINE needs; "
                "index it again, or use HYBRID",
            )


def lacks_text_search(states: Sequence[IndexState], mode: RetrievalMode) -> bool:
    """
    Return whether a mode searches by text where an index has only vectors.

    Raises:
        IndexUnusable: The mode searches by text alone.
    """
    lacking = [state.index for state in states if not state.has_text_search]
    if lacking and mode is RetrievalMode.SPARSE:
        raise IndexUnusable(
            lacking[0],
            "without BM25 vectors, which retrieval.mode SPARSE needs; use DENSE or HYBRID, or "
            "index its sources",
        )
    return bool(lacking) and mode is RetrievalMode.HYBRID


def check_model(
    queries: Sequence[Query], state: IndexState, known: Sequence[ModelIdentity], number: int
) -> None:
    """
    Check that every query can be searched by vector in an index.

    Args:
        queries: The request's queries.
        state: The target's index.
        known: The service's models.
        number: The target's position.

    Raises:
        InvalidRequest: A given vector has another model or dimension.
        IndexUnusable: A query has no vector and the service lacks the index's model.
    """
    for position, query in enumerate(queries):
        if query.vector is None:
            if all(one.sha256 != state.model.sha256 for one in known):
                runs = ", ".join(repr(one.name) for one in known) or "none"
                raise IndexUnusable(
                    state.index,
                    f"made with embedding model {state.model.name!r}, which this service does not "
                    f"run (it runs: {runs}); start it with that model, index again, or send query "
                    "vectors",
                )
            continue
        field = f"queries[{position}].vector"
        if query.vector.model not in (state.model.name, state.model.sha256):
            raise InvalidRequest(
                f"{field}.model",
                f"is {query.vector.model!r}, targets[{number}] was made with {state.model.name!r}",
            )
        if len(query.vector.values) != state.model.dimension:
            raise InvalidRequest(
                f"{field}.values",
                f"has {len(query.vector.values)} values, targets[{number}] has "
                f"{state.model.dimension} dimensions",
            )
