"""
Which fields of Qdrant's protocol the test server has: everything else is refused, not ignored.
"""

from __future__ import annotations

import grpc
from google.protobuf.message import Message

IMPLEMENTED = {
    "ListCollectionsRequest": "",
    "CollectionExistsRequest": "collection_name",
    "DeleteCollection": "collection_name",
    "CreateCollection": "collection_name vectors_config sparse_vectors_config shard_number "
    "replication_factor write_consistency_factor hnsw_config quantization_config on_disk_payload",
    "GetCollectionInfoRequest": "collection_name",
    "VectorsConfig": "params params_map",
    "VectorParamsMap": "map",
    "VectorParams": "size distance on_disk multivector_config",
    "MultiVectorConfig": "comparator",
    "SparseVectorConfig": "map",
    "SparseVectorParams": "modifier",
    "HnswConfigDiff": "m payload_m ef_construct",
    "QuantizationConfig": "scalar binary",
    "ScalarQuantization": "type always_ram",
    "BinaryQuantization": "always_ram",
    "CreateFieldIndexCollection": "collection_name wait field_name field_type field_index_params",
    "PayloadIndexParams": "keyword_index_params",
    "KeywordIndexParams": "is_tenant",
    "UpsertPoints": "collection_name wait points update_mode",
    "PointStruct": "id payload vectors",
    "PointId": "uuid num",
    "Vectors": "vector vectors",
    "NamedVectors": "vectors",
    "Vector": "dense sparse",
    "DenseVector": "data",
    "SparseVector": "indices values",
    "SetPayloadPoints": "collection_name wait payload points_selector ordering",
    "DeletePoints": "collection_name wait points",
    "PointsSelector": "points filter",
    "PointsIdsList": "ids",
    "WriteOrdering": "type",
    "ScrollPoints": "collection_name filter offset limit with_payload with_vectors "
    "read_consistency timeout",
    "ReadConsistency": "type factor",
    "WithPayloadSelector": "enable include",
    "PayloadIncludeSelector": "fields",
    "WithVectorsSelector": "include enable",
    "VectorsSelector": "names",
    "CountPoints": "collection_name filter exact read_consistency",
    "QueryBatchPoints": "collection_name query_points read_consistency timeout",
    "QueryPoints": "collection_name query using filter params limit with_payload",
    "Query": "nearest",
    "VectorInput": "dense sparse",
    "SearchParams": "exact idf hnsw_ef quantization",
    "QuantizationSearchParams": "ignore rescore oversampling",
    "IdfParams": "corpus",
    "Filter": "must should must_not",
    "Condition": "field is_empty has_id filter",
    "FieldCondition": "key match range",
    "Match": "keyword keywords integers boolean",
    "RepeatedStrings": "strings",
    "RepeatedIntegers": "integers",
    "Range": "lt gt gte lte",
    "IsEmptyCondition": "key",
    "HasIdCondition": "has_id",
    "Value": "null_value double_value integer_value string_value bool_value struct_value "
    "list_value",
    "Struct": "fields",
    "ListValue": "values",
}


class Refused(Exception):
    """
    A call that the server answers with a status.
    """

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self.code = code
        self.details = details


def require_implemented(message: Message) -> None:
    """
    Refuse a message in which a field is set that the server does not have.
    """
    name = message.DESCRIPTOR.name
    known = IMPLEMENTED.get(name)
    for field, value in message.ListFields():
        if known is None or field.name not in known.split():
            raise Refused(
                grpc.StatusCode.INVALID_ARGUMENT, f"{name}.{field.name} is not implemented here"
            )
        for part in _messages(value):
            require_implemented(part)


def _messages(value: object) -> list[Message]:
    if isinstance(value, Message):
        return [value]
    if isinstance(value, str | bytes | int | float | bool):
        return []
    if hasattr(value, "items"):
        return [part for _, part in value.items() if isinstance(part, Message)]
    return [part for part in value if isinstance(part, Message)]  # type: ignore[attr-defined]
