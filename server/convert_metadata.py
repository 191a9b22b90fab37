"""
Metadata values: proto to domain and back.
"""

from __future__ import annotations

from collections.abc import Iterable

from contextassembler.v1 import context_pb2 as pb

from assembler.model import MetadataValue


def from_metadata(entries: Iterable[pb.MetadataEntry]) -> tuple[tuple[str, MetadataValue], ...]:
    """
    Return named values.
    """
    return tuple((entry.name, _from_value(entry.value)) for entry in entries)


def to_metadata(values: Iterable[tuple[str, MetadataValue]]) -> list[pb.MetadataEntry]:
    """
    Return named values as messages.
    """
    return [pb.MetadataEntry(name=name, value=_to_value(value)) for name, value in values]


def _from_value(value: pb.MetadataValue) -> MetadataValue:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return value.string_value
    if kind == "int_value":
        return value.int_value
    if kind == "double_value":
        return value.double_value
    if kind == "bool_value":
        return value.bool_value
    if kind == "list_value":
        return tuple(_from_value(one) for one in value.list_value.values)
    return None


def _to_value(value: MetadataValue) -> pb.MetadataValue:
    if isinstance(value, str):
        return pb.MetadataValue(string_value=value)
    if isinstance(value, bool):
        return pb.MetadataValue(bool_value=value)
    if isinstance(value, int):
        return pb.MetadataValue(int_value=value)
    if isinstance(value, float):
        return pb.MetadataValue(double_value=value)
    if isinstance(value, tuple):
        values = [_to_value(one) for one in value]
        return pb.MetadataValue(list_value=pb.MetadataList(values=values))
    return pb.MetadataValue()
