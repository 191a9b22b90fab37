"""
Index a question set with the product's own indexer, unless the same is indexed already.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from adapters.edge_store import EdgeStore
from adapters.embedder import OnnxEmbedder
from adapters.model_export import export_model
from adapters.model_files import DESCRIPTION
from bench.quality.stored import source_id_of
from evaluation.question_set import Document, QuestionSet
from indexer.index import run_index
from indexer.ports import Progress
from indexer.prepare import manifest_of
from indexer.read_source import CODE, MEDIA_TYPES
from indexer.request import IndexRequest

NAME_CHARS = 27
DIGEST_CHARS = 12
MEDIA_TYPE = {
    "markdown": MEDIA_TYPES[".md"],
    "text": MEDIA_TYPES[".txt"],
    "html": MEDIA_TYPES[".html"],
    "code": CODE,
}


class NotIndexed(Exception):
    """
    The indexer refused a document of the set.
    """


@dataclass(frozen=True, slots=True)
class Prepared:
    """
    An index that holds the documents of a set.
    """

    index: str
    data_dir: Path
    version: str
    chunks: int
    seconds: float
    is_reused: bool


def prepare(
    question_set: QuestionSet,
    *,
    model_dir: Path,
    work: Path,
    progress: Progress,
    is_fresh: bool = False,
) -> Prepared:
    """
    Return the index of the set, made where there is none of these documents, cuts and model.

    Args:
        question_set: Documents are indexed with their format as media type and their language.
        model_dir: The exported embedding model.
        work: Indexes are kept here between runs.
        progress: Told how far the indexer is.
        is_fresh: Index again in any case.

    Raises:
        NotIndexed: A document could not be read by the indexer.
    """
    embedder = OnnxEmbedder(model_dir)
    lines = [json.dumps(_facts(one)) for one in question_set.documents.values()]
    manifest = manifest_of(embedder.spec, {})
    texts = (one.text for one in question_set.documents.values())
    index = _name(question_set.name, (manifest.generation, *lines, *texts))
    data_dir = work / "indexes"
    if is_fresh and (data_dir / index).exists():
        shutil.rmtree(data_dir / index)
    store = EdgeStore(data_dir)
    there = _there(store, index)
    if there is not None:
        return Prepared(index, data_dir, *there, seconds=0.0, is_reused=True)
    sources = work / "sources" / f"{index}.jsonl"
    sources.parent.mkdir(parents=True, exist_ok=True)
    sources.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    request = IndexRequest(
        index=index,
        paths=tuple(one.path for one in question_set.documents.values()),
        sources_file=sources,
    )
    summary = run_index(request, store, embedder, progress)
    if summary.unreadable:
        raise NotIndexed(str(summary.unreadable[0]))
    return Prepared(
        index,
        data_dir,
        summary.index_version,
        summary.chunks,
        seconds=summary.seconds,
        is_reused=False,
    )


def model_folder(asked: str | None, default: Path, work: Path) -> Path:
    """
    Return the exported model of a folder or a name, exported first where it is not there yet.

    Args:
        asked: A folder that `context-assembler model export` wrote, or a sentence-transformers
            name or folder; None takes the product's own model.
        default: Where the product's own model lies.
        work: Other models are exported to ``models/`` in it.
    """
    if asked is not None and (Path(asked) / DESCRIPTION).exists():
        return Path(asked)
    folder = default
    if asked is not None:
        folder = work / "models" / re.sub(r"[^a-z0-9]+", "-", asked.casefold()).strip("-")
    if not (folder / DESCRIPTION).exists():
        export_model(asked, folder)
    return folder


def _facts(document: Document) -> dict[str, str]:
    facts = {
        "path": document.path.name,
        "source_id": source_id_of(document),
        "media_type": MEDIA_TYPE[document.doc_format],
        "language": document.lang,
    }
    return {**facts, "version": document.version} if document.version else facts


def _name(set_name: str, parts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part.encode()).digest())
    slug = re.sub(r"[^a-z0-9]+", "-", set_name.casefold()).strip("-")[:NAME_CHARS]
    return f"{slug or 'set'}-{digest.hexdigest()[:DIGEST_CHARS]}"


def _there(store: EdgeStore, index: str) -> tuple[str, int] | None:
    for one in store.listings(""):
        if one.name == index and one.ledger.revision:
            version = f"{one.ledger.generation}.{one.ledger.revision}"
            return version, sum(row.chunks for row in one.ledger.rows)
    return None
