"""
Checked values of stored payloads: what is not of the type that was written raises `PayloadDamaged`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

from adapters.payload_keys import FIELDS, METADATA
from assembler.filters import FieldValue
from assembler.model import MetadataValue

Payload: TypeAlias = Mapping[str, object]

_INT64 = range(-(2**63), 2**63)


class PayloadDamaged(ValueError):
    """
    A stored payload lacks a key, or holds a value of another type than was written.
    """

    def __init__(self, key: str, name: str = "") -> None:
        self.key = f"{key}.{name}" if name else key
        super().__init__(f"the stored {self.key!r} is missing or of another type")


def checked_text(payload: Payload, key: str) -> str:
    """
    Return a string.
    """
    value = payload.get(key)
    if not isinstance(value, str):
        raise PayloadDamaged(key)
    return value


def checked_texts(payload: Payload, key: str) -> tuple[str, ...]:
    """
    Return a list of strings.
    """
    value = payload.get(key)
    if not isinstance(value, list) or not _are_all(str, value):
        raise PayloadDamaged(key)
    return tuple(value)


def checked_integer(payload: Payload, key: str) -> int:
    """
    Return an integer of at least 0: offsets, ordinals and revisions are never negative.
    """
    value = payload.get(key)
    if type(value) is not int or value < 0:
        raise PayloadDamaged(key)
    return value


def checked_integers(payload: Payload, key: str, *, group: int = 1) -> list[int]:
    """
    Return a list of integers of at least 0, in whole groups.
    """
    value = payload.get(key)
    if not isinstance(value, list) or len(value) % group:
        raise PayloadDamaged(key)
    if not _are_all(int, value) or min(value, default=0) < 0:
        raise PayloadDamaged(key)
    return value


def _are_all(kind: type, values: list[object]) -> bool:
    return set(map(type, values)) <= {kind}


def checked_fields(value: object) -> dict[str, FieldValue]:
    """
    Return filterable metadata.
    """
    if not isinstance(value, dict):
        raise PayloadDamaged(FIELDS)
    fields: dict[str, FieldValue] = {}
    for name, stored in value.items():
        if isinstance(stored, str | int | None):
            fields[name] = stored
        elif isinstance(stored, list) and _are_all(str, stored):
            fields[name] = tuple(stored)
        else:
            raise PayloadDamaged(FIELDS, name)
    return fields


def checked_metadata(value: object) -> dict[str, MetadataValue]:
    """
    Return descriptive metadata.
    """
    if not isinstance(value, dict):
        raise PayloadDamaged(METADATA)
    return {str(name): _metadata_value(str(name), stored) for name, stored in value.items()}


def _metadata_value(name: str, stored: object) -> MetadataValue:
    if isinstance(stored, str | int | float | None):
        return stored
    if isinstance(stored, list):
        return tuple(_metadata_value(name, item) for item in stored)
    raise PayloadDamaged(METADATA, name)


def storable(name: str, value: MetadataValue | FieldValue) -> object:
    """
    Return a metadata value as JSON has it.

    Raises:
        ValueError: JSON, or the engine's 64-bit integers, cannot hold it.
    """
    if isinstance(value, tuple):
        return [storable(name, item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        msg = f"metadata {name!r}: {value} cannot be stored"
        raise ValueError(msg)
    if isinstance(value, int) and value not in _INT64:
        msg = f"metadata {name!r}: {value} does not fit 64 bits"
        raise ValueError(msg)
    return value
