"""
Filters on a running service: each type of field, in each group, and what is refused.
"""

from __future__ import annotations

import itertools
from typing import Any

import grpc
import pytest
from contextassembler.client import ContextAssemblerCallError, ContextAssemblerClient
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from google.protobuf.timestamp_pb2 import Timestamp

SCOPE = pb.Scope(
    principals=pb.Principals(values=["staff", "managers"]), version_policy=pb.VERSION_POLICY_ALL
)
TESTS: dict[str, dict[str, Any]] = {
    "any_of_strings": {"any_of_strings": pb.StringValues(values=["security", "policy"])},
    "any_of_ints": {"any_of_ints": pb.IntValues(values=[2024, 2025])},
    "bool_value": {"bool_value": False},
    "int_range": {"int_range": pb.IntRange(at_least=2026)},
    "timestamp_range": {
        "timestamp_range": pb.TimestampRange(at_least=Timestamp(seconds=1_785_542_400))
    },
}
COMPARED_BY = {
    "department": ("keyword", {"any_of_strings"}),
    "tags": ("keyword_list", {"any_of_strings"}),
    "year": ("int64", {"any_of_ints", "int_range"}),
    "reviewed": ("timestamp", {"timestamp_range"}),
    "confidential": ("bool", {"bool_value"}),
}


def asking(group: str = "", **condition: Any) -> service_pb.AssembleContextRequest:
    scope = pb.Scope()
    scope.CopyFrom(SCOPE)
    if group:
        getattr(scope.filter, group).add(**condition)
    return service_pb.AssembleContextRequest(
        queries=[service_pb.Query(text="Who approves what, and by when?")],
        targets=[service_pb.Target(index="handbook", scope=scope)],
        budget=pb.Budget(tokenizer="o200k_base", context_tokens=4000),
        retrieval=pb.Retrieval(chunk_limit=500),
        explain=pb.EXPLAIN_LIST,
    )


def sources(
    client: ContextAssemblerClient, request: service_pb.AssembleContextRequest
) -> set[tuple[str, str]]:
    found = client.assemble_context(request).dispositions.list
    return {(one.source_id, one.version) for one in found}


@pytest.mark.parametrize(
    ("field", "test"),
    [(field, test) for field, (_, fitting) in COMPARED_BY.items() for test in sorted(fitting)],
)
def test_a_condition_and_its_contrary_share_all_sources_between_them(
    client: ContextAssemblerClient, field: str, test: str
) -> None:
    condition = {"field": field, **TESTS[test]}

    everyone = sources(client, asking())
    chosen = sources(client, asking("all_of", **condition))

    assert chosen
    assert chosen < everyone
    assert sources(client, asking("any_of", **condition)) == chosen
    assert sources(client, asking("none_of", **condition)) == everyone - chosen


MISFITS = [
    (field, test)
    for field, test in itertools.product(COMPARED_BY, TESTS)
    if test not in COMPARED_BY[field][1]
]


@pytest.mark.parametrize(("field", "test"), MISFITS)
def test_a_condition_of_another_type_is_refused_with_the_one_that_fits(
    client: ContextAssemblerClient, field: str, test: str
) -> None:
    kind, fitting = COMPARED_BY[field]

    with pytest.raises(ContextAssemblerCallError) as caught:
        client.assemble_context(asking("none_of", field=field, **TESTS[test]))

    assert caught.value.code is grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.reason == "ERROR_REASON_FILTER_FIELD_UNKNOWN"
    assert f"{field!r} is of type {kind}" in caught.value.message
    assert " or ".join(sorted(fitting)) in caught.value.message


@pytest.mark.parametrize("name", ["page", "readers", "source_id", "tenant", "Year", "fields.year"])
def test_a_field_that_is_not_filterable_is_refused_with_those_that_are(
    client: ContextAssemblerClient, name: str
) -> None:
    condition = {"field": name, **TESTS["any_of_strings"]}
    source = service_pb.GetSourceTextRequest(
        index="handbook", scope=asking("any_of", **condition).targets[0].scope, source_id="a.md"
    )
    source.scope.ClearField("version_policy")
    listed = ", ".join(field.name for field in client.indexes()[0].fields)

    with pytest.raises(ContextAssemblerCallError) as asked:
        client.assemble_context(asking("any_of", **condition))
    with pytest.raises(ContextAssemblerCallError) as read:
        client.source_text(source)

    assert listed == "confidential, department, reviewed, tags, year"
    for error, field in ((asked.value, "targets[0].scope.filter"), (read.value, "scope.filter")):
        assert error.reason == "ERROR_REASON_FILTER_FIELD_UNKNOWN"
        assert error.facts["field"] == field
        assert error.message.endswith(f"there are: {listed}")


def test_types_of_filterable_fields_are_listed(client: ContextAssemblerClient) -> None:
    (index,) = client.indexes()

    listed = {field.name: service_pb.FieldType.Name(field.type) for field in index.fields}
    assert listed == {name: f"FIELD_TYPE_{kind.upper()}" for name, (kind, _) in COMPARED_BY.items()}
