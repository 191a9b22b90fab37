"""
What a run is asked, and what it did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from adapters.bm25 import is_language
from assembler.errors import InvalidRequest
from assembler.model import FieldType
from indexer.build_report import BuildReport
from indexer.read_source import MOST_BYTES, Unreadable
from indexer.sources import MOST_NAME_CHARS, NO_LANGUAGE

DEFAULT_SET = "default"


@dataclass(frozen=True, slots=True)
class IndexRequest:
    """
    What to index, and how.

    Attributes:
        schema: Filterable fields; None keeps those of the index (none for a new one).
        upsert: Add or replace the given sources and leave the others of the set.
        remove: Sources to end.
        keep_versions: Earlier versions of a source that stay readable.
        readers_required: Sources without readers are invisible; None keeps what is.
        profile: Name of the profile that requests use unless they name one; None keeps that of the
            index, and takes the model's own for a new index or another model.
        strategy: How texts are cut, by name; None keeps that of the index (`structure` for a new
            one).
        strategy_settings: Of the strategy. Those that are not named keep the strategy's defaults
            where it is named, else what the index has.
    """

    index: str
    paths: tuple[Path, ...] = ()
    tenant: str = ""
    version: str | None = None
    language: str | None = None
    sources_file: Path | None = None
    source_set: str = DEFAULT_SET
    schema: Mapping[str, FieldType] | None = None
    upsert: bool = False
    remove: tuple[str, ...] = ()
    keep_versions: int = 0
    readers_required: bool | None = None
    profile: str | None = None
    most_file_bytes: int = MOST_BYTES
    strategy: str | None = None
    strategy_settings: Mapping[str, str | int | float | bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """
        Refuse names that no request could give, and a language that is none.

        Raises:
            InvalidRequest: Names the field.
        """
        _check_length("tenant", self.tenant)
        for name in self.schema or ():
            _check_length("schema", name)
        named = [("version", self.version), ("language", self.language)]
        named += [("source_set", self.source_set), *(("remove", one) for one in self.remove)]
        for name, value in named:
            if value is not None:
                _check_length(name, value)
                if not value:
                    raise InvalidRequest(name, "is empty; leave it out or give a text")
        if self.language is not None and not is_language(self.language):
            raise InvalidRequest("language", f"{self.language!r} {NO_LANGUAGE}")


@dataclass(slots=True)
class Summary:
    """
    What a run did.

    Attributes:
        index_version: The version that is served now, or that waits to be published.
        is_built: It waits.
        documents: Source versions of the run's files that are readable now.
        tokens: Tokens of the embedding model in what was written.
        embedded: Chunks that were embedded.
        reused: Chunks whose vector was there already.
        reasons: Why documents were cut as they were, where the strategy depends on them.
        report: What the chunks that were written are like.
        hidden: Hidden files and folders below those of the run, which were passed over.
        counts: What a model that writes did, and what of it was refused.
    """

    index_version: str = ""
    is_published: bool = False
    is_built: bool = False
    documents: int = 0
    written: int = 0
    unchanged: int = 0
    ended: int = 0
    sections: int = 0
    chunks: int = 0
    tokens: int = 0
    embedded: int = 0
    reused: int = 0
    seconds: float = 0.0
    unreadable: list[Unreadable] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    report: BuildReport = field(default_factory=BuildReport)


def _check_length(name: str, value: str) -> None:
    if len(value) > MOST_NAME_CHARS:
        raise InvalidRequest(
            name, f"has {len(value)} characters; at most {MOST_NAME_CHARS} are accepted"
        )
