"""
The gate says of every record what the filter says.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assembler.filters import AnyInt, AnyString, Condition, Filter, IntRange, IsBool
from assembler.model import FOREVER, Provenance
from assembler.scope import IndexVersion, Pin, ReadScope, Scope, VersionPolicy

NAMES = st.sampled_from(["a", "b", ""])
READERS = st.none() | st.lists(NAMES, max_size=2).map(tuple)
REVISIONS = st.integers(0, 4) | st.just(FOREVER)
VALUES = st.booleans() | st.integers(0, 1) | NAMES | st.lists(NAMES, max_size=2).map(tuple)
TESTS = st.sampled_from(
    [AnyString(("a", "")), AnyInt((1,)), IsBool(value=True), IntRange(at_least=1)]
)
CONDITIONS = st.builds(Condition, st.sampled_from(["fields.x", "fields.y"]), TESTS)
FILTERS = st.builds(
    Filter,
    st.lists(CONDITIONS, max_size=2).map(tuple),
    st.lists(CONDITIONS, max_size=2).map(tuple),
    st.lists(CONDITIONS, max_size=2).map(tuple),
)
SCOPES = st.builds(
    Scope,
    tenant=NAMES,
    principals=READERS,
    filter=FILTERS,
    source_ids=st.lists(NAMES, max_size=2).map(tuple),
    versions=st.sampled_from(VersionPolicy),
    pins=st.lists(st.builds(Pin, NAMES, NAMES), max_size=2).map(tuple),
)
RECORDS = st.builds(
    Provenance,
    tenant=NAMES,
    source_id=NAMES,
    version=NAMES,
    content_sha256=st.just("0"),
    readers=READERS,
    from_rev=st.integers(0, 4),
    active_to_rev=REVISIONS,
    to_rev=REVISIONS,
    fields=st.dictionaries(st.sampled_from(["x", "y"]), VALUES, max_size=2),
)


@given(SCOPES, st.integers(0, 4), st.booleans(), st.lists(RECORDS, max_size=6))
def test_the_gate_agrees_with_the_filter(
    asked: Scope, revision: int, is_required: bool, records: list[Provenance]
) -> None:
    scope = ReadScope("docs", IndexVersion("g", revision), is_required, asked)
    gate = scope.gate()

    expected = [scope.record_filter().accepts(one.value_of) for one in records]
    assert [gate.admits(one) for one in records] == expected
    assert [gate.admits(one) for one in records] == expected  # from memory, too


def test_true_and_one_are_not_taken_for_each_other() -> None:
    asked = Scope(filter=Filter(all_of=(Condition("fields.x", IsBool(value=True)),)))
    gate = ReadScope("docs", IndexVersion("g", 1), readers_required=False, asked=asked).gate()

    def record(value: int) -> Provenance:
        return Provenance("", "a", "1", "0", None, 1, fields={"x": value})

    assert [gate.admits(record(value)) for value in (True, 1, True)] == [True, False, True]
