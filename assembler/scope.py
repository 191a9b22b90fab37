"""
What a request may see: the asked scope, and the one value that every read of a target carries.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter

from assembler.filters import AnyString, Condition, Filter, IntRange, IsMissing
from assembler.model import PointKind, Provenance

OWN_FIELDS = frozenset(
    ("tenant", "source_id", "version", "readers", "from_rev", "active_to_rev", "to_rev")
)
"""Payload keys that are attributes of a provenance of the same name."""

MOST_DIGITS = 15
"""Of a revision: what a JSON number holds exactly."""


class VersionPolicy(enum.Enum):
    """
    Which versions of a source are read.
    """

    ACTIVE = "active"
    ALL = "all"
    PINNED = "pinned"
    RETAINED = "retained"
    """Every stored version, ended ones too: only for reading source text back."""


@dataclass(frozen=True, slots=True)
class Pin:
    """
    One version of one source, by the caller's label.
    """

    source_id: str
    version: str


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """
    ``<generation>.<revision>`` of a tenant's part of an index.
    """

    generation: str
    revision: int

    def __str__(self) -> str:
        return f"{self.generation}.{self.revision}"

    @classmethod
    def parse(cls, text: str) -> IndexVersion:
        """
        Return the version that a text names.

        Raises:
            ValueError: The text is not of the form ``<generation>.<revision>``.
        """
        generation, dot, revision = text.rpartition(".")
        is_number = revision.isascii() and revision.isdigit() and len(revision) <= MOST_DIGITS
        if not (dot and generation and is_number):
            msg = f"an index version reads <generation>.<revision>, got {text!r}"
            raise ValueError(msg)
        return cls(generation, int(revision))


@dataclass(frozen=True, slots=True)
class Scope:
    """
    What the request asks to see of one index.

    Attributes:
        principals: Who asks; None where the request names nobody, which is not the same as ().
        at_least: The index must have reached this version.
        exactly: The index must be read as of this version.
    """

    tenant: str = ""
    principals: tuple[str, ...] | None = None
    filter: Filter = field(default_factory=Filter)
    source_ids: tuple[str, ...] = ()
    versions: VersionPolicy = VersionPolicy.ACTIVE
    pins: tuple[Pin, ...] = ()
    at_least: IndexVersion | None = None
    exactly: IndexVersion | None = None


@dataclass(frozen=True)
class ReadScope:
    """
    The scope with the index version resolved: every read carries it, every record is checked by it.
    """

    index: str
    version: IndexVersion
    readers_required: bool
    asked: Scope

    @property
    def tenant(self) -> str:
        """
        Return the one tenant of every read.
        """
        return self.asked.tenant

    def corpus_filter(self) -> Filter:
        """
        Return the tenant's part of the revision: the corpus of document frequencies.
        """
        revision = self.version.revision
        return Filter(
            all_of=(
                Condition("tenant", AnyString((self.tenant,))),
                Condition("from_rev", IntRange(below=revision + 1)),
                Condition("to_rev", IntRange(at_least=revision + 1)),
            )
        )

    def point_filter(self, kind: PointKind) -> Filter:
        """
        Return the filter of a read of one kind of points.
        """
        return Filter(all_of=(Condition("kind", AnyString((kind.value,))), self.record_filter()))

    def record_filter(self) -> Filter:
        """
        Return all that the scope demands of a record: tenant, revision, readers, versions, filter.
        """
        return Filter(all_of=self._demanded())

    def _demanded(self) -> tuple[Condition | Filter, ...]:
        parts: list[Condition | Filter] = list(self._window())
        parts.extend(self._readers())
        if self.asked.source_ids:
            parts.append(Condition("source_id", AnyString(self.asked.source_ids)))
        if self.asked.versions is VersionPolicy.PINNED:
            parts.append(_pins_filter(self.asked.pins))
        if not self.asked.filter.is_empty:
            parts.append(self.asked.filter)
        return tuple(parts)

    def admits(self, provenance: Provenance) -> bool:
        """
        Return whether a record that came back may be used: the same conditions, checked again.
        """
        return self.record_filter().accepts(provenance.value_of)

    def gate(self) -> RecordGate:
        """
        Return the same check for many records: one gate, which knows what it has looked at.
        """
        return self._gate

    @cached_property
    def _gate(self) -> RecordGate:
        return RecordGate(self._demanded())

    def _window(self) -> tuple[Condition, ...]:
        revision = self.version.revision
        window = [
            Condition("tenant", AnyString((self.tenant,))),
            Condition("from_rev", IntRange(below=revision + 1)),
        ]
        if self.asked.versions is not VersionPolicy.RETAINED:
            window.append(Condition("to_rev", IntRange(at_least=revision + 1)))
        if self.asked.versions is VersionPolicy.ACTIVE:
            window.append(Condition("active_to_rev", IntRange(at_least=revision + 1)))
        return tuple(window)

    def _readers(self) -> tuple[Condition | Filter, ...]:
        meets = Condition("readers", AnyString(self.asked.principals or ()))
        if self.readers_required:
            return (meets,)
        open_to_all = Condition("readers", IsMissing())
        return (Filter(any_of=(open_to_all, meets)) if self.asked.principals else open_to_all,)


class RecordGate:
    """
    Tells of many records whether they lie in a scope; those of one provenance are looked at once.
    """

    def __init__(self, demanded: Sequence[Condition | Filter]) -> None:
        self._checks = tuple(_check_of(part) for part in demanded)
        self._known: dict[int, tuple[Provenance, bool]] = {}

    def admits(self, provenance: Provenance) -> bool:
        """
        Return whether a record that came back may be used.
        """
        known = self._known.get(id(provenance))
        if known is None:  # what is kept here keeps its id
            known = self._known[id(provenance)] = (provenance, self._checked(provenance))
        return known[1]

    def _checked(self, provenance: Provenance) -> bool:
        for check in self._checks:  # noqa: SIM110 - a generator takes longer than its few checks
            if not check(provenance):
                return False
        return True


def _check_of(part: Condition | Filter) -> Callable[[Provenance], bool]:
    """
    Return the check of one part, with what does not differ between records settled before.
    """
    if isinstance(part, Filter):
        return lambda provenance: part.accepts(provenance.value_of)
    accepts, field_name = part.test.accepts, part.field
    if field_name in OWN_FIELDS:
        read = attrgetter(field_name)
        return lambda provenance: accepts(read(provenance))
    return lambda provenance: accepts(provenance.value_of(field_name))


def _pins_filter(pins: tuple[Pin, ...]) -> Condition | Filter:
    """
    Return what matches one of the pins; without pins, nothing.
    """
    if not pins:
        return Condition("source_id", AnyString(()))
    return Filter(any_of=tuple(_pin_filter(pin) for pin in pins))


def _pin_filter(pin: Pin) -> Filter:
    return Filter(
        all_of=(
            Condition("source_id", AnyString((pin.source_id,))),
            Condition("version", AnyString((pin.version,))),
        )
    )
