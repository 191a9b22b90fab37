"""
Points of a chunk and its section that are wrong, and what becomes of the chunk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.edge.hostile import Hostile


@dataclass(frozen=True)
class Case:
    """
    What is done to the points of the fines, and what becomes of their chunk.

    Attributes:
        chunk: Values of the chunk; a callable is given all points.
        section: Values of its section.
        deletes: Whether the section is deleted.
        fate: The chunk's disposition; None where it is no candidate.
        note: Its note.
        denied: Why a point that came back was dropped.
    """

    chunk: Mapping[str, Any] = field(default_factory=dict)
    section: Mapping[str, Any] = field(default_factory=dict)
    deletes: bool = False
    fate: str | None = "PACKED"
    note: str | None = None
    denied: str | None = None


def key_of(text: str, tenant: str, kind: str = "section") -> Any:
    return lambda it: it.points[it.find(kind, text, tenant)]["key"]


def same_length(it: Hostile) -> str:
    text = str(it.points[it.find("section", "Fines are never")]["text"])
    return text.replace("never", "often")


def sha(text: Any) -> Any:
    return lambda it: hashlib.sha256(text(it).encode()).hexdigest()


CASES = {
    "section id into another tenant": Case(
        {"section_key": key_of("thalers", "other")}, note="PARENT_MISSING"
    ),
    "section id into other readers": Case(
        {"section_key": key_of("zlotys", "acme")}, note="PARENT_MISSING"
    ),
    "section id of another section": Case(
        {"section_key": key_of("Trains", "acme")}, note="PARENT_MISMATCH"
    ),
    "section id of a chunk": Case(
        {"section_key": key_of("Fines are never", "acme", "chunk")}, note="PARENT_MISSING"
    ),
    "section id of another type": Case({"section_key": 7}, fate=None, denied="damaged"),
    "section missing": Case(deletes=True, note="PARENT_MISSING"),
    "section of another tenant": Case(section={"tenant": "other"}, note="PARENT_MISSING"),
    "section of other readers": Case(section={"readers": ["owner"]}, note="PARENT_MISSING"),
    "section's hash wrong": Case(
        section={"text_sha256": "0" * 64}, note="PARENT_MISSING", denied="damaged"
    ),
    "section's text changed": Case(
        section={"text": same_length}, note="PARENT_MISSING", denied="damaged"
    ),
    "section's text and hash changed": Case(
        section={"text": same_length, "text_sha256": sha(same_length)}, note="PARENT_MISMATCH"
    ),
    "section's metadata differs": Case(
        section={"fields": {"team": "finance"}}, note="PARENT_MISMATCH"
    ),
    "section's version differs": Case(section={"version": "v9"}, note="PARENT_MISMATCH"),
    "section's source differs": Case(section={"source_id": "else.md"}, note="PARENT_MISMATCH"),
    "section's borders outside it": Case(
        section={"border_offsets": [0, 99999], "border_kinds": "ps"},
        note="PARENT_MISSING",
        denied="damaged",
    ),
    "section's chunks outside it": Case(
        section={"chunk_spans": [0, 99999]}, note="PARENT_MISSING", denied="damaged"
    ),
    "chunk outside its section": Case(
        {"start": 5000, "end": lambda it: 5000 + len(own_text(it))}, note="PARENT_MISMATCH"
    ),
    "chunk's own text wrong, section missing": Case(
        {"text": "The fines of the board are many thalers."},
        deletes=True,
        fate="INVALID",
        note=None,
    ),
    "chunk's hash wrong": Case({"text_sha256": "0" * 64}, fate="INVALID", note=None),
    "chunk of another tenant": Case({"tenant": "other"}, fate=None),
    "chunk of other readers": Case({"readers": ["owner"]}, fate=None),
    "chunk's readers of another type": Case({"readers": "staff"}, fate=None, denied="damaged"),
    "chunk from a later revision": Case({"from_rev": 9}, fate=None),
    "chunk that ended before it began": Case({"from_rev": 1, "to_rev": 0}, fate=None),
    "chunk inactive before it began": Case({"active_to_rev": 1}, fate=None),
    "section that ended before it began": Case(section={"to_rev": 0}, note="PARENT_MISSING"),
    "section from a later revision": Case(section={"from_rev": 9}, note="PARENT_MISSING"),
    "chunk of no kind": Case({"kind": "passage"}, fate=None),
    "chunk without a key": Case({"key": None}, fate=None, denied="damaged"),
}


def own_text(it: Hostile) -> str:
    return str(it.points[it.find("chunk", "Fines are never")]["text"])
