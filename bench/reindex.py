"""
What of a real set is embedded again after a few documents have changed.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from pathlib import Path

from rich.console import Console

from adapters.edge_store import EdgeStore
from adapters.embedder import OnnxEmbedder
from adapters.ledger import as_of
from bench.command import silent
from bench.quality.prepare import prepare
from evaluation.question_set import Document, QuestionSet
from indexer.diff import diff_revisions
from indexer.index import run_index
from indexer.request import IndexRequest
from server.settings import Settings


def changed_set(asked: QuestionSet, work: Path, console: Console) -> dict[str, object]:
    """
    Change three documents of a real set and remove one; return what that embeds.
    """
    settings = Settings()
    base = prepare(asked, model_dir=settings.model_dir, work=work, progress=silent)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        shutil.copytree(base.data_dir / base.index, place / base.index)
        store, embedder = EdgeStore(place), OnnxEmbedder(settings.model_dir)
        documents = sorted(asked.documents.values(), key=lambda one: (one.version, str(one.path)))
        removed, *others = documents
        paths = [_edited(one, place) if at < 3 else one.path for at, one in enumerate(others)]  # noqa: PLR2004 - as many as are named here
        lines = (work / "sources" / f"{base.index}.jsonl").read_text().splitlines()
        kept = [line for line in lines if json.loads(line)["path"] != removed.path.name]
        sources = place / "sources.jsonl"
        sources.write_text("".join(f"{line}\n" for line in kept))
        request = IndexRequest(base.index, tuple(paths), sources_file=sources)
        summary = run_index(request, store, embedder, silent)
        ledger = store.listings("")[0].ledger
        changes = [one.change.value for one in diff_revisions(ledger, 1, ledger.revision)]
        with store.upkeep(base.index, "") as upkeep:
            upkeep.roll_back(None, at=time.time())
        back = store.listings("")[0].ledger.rows
        found: dict[str, object] = {
            "documents": len(documents),
            "chunks": sum(row.chunks for row in as_of(ledger.rows, 1)),
            "written": summary.written,
            "ended": summary.ended,
            "chunks_written": summary.chunks,
            "embedded": summary.embedded,
            "reused": summary.reused,
            "seconds": round(summary.seconds, 2),
            "diff": {kind: changes.count(kind) for kind in sorted(set(changes))},
            "rows_after_rollback": len(back),
        }
    console.print(found)
    return found


def _edited(document: Document, place: Path) -> Path:
    text = document.text
    middle = text.find("\n\n", len(text) // 2) + 2
    path = place / document.path.name
    path.write_text(
        f"{text[:middle]}This paragraph of {document.path.name} is new.\n\n{text[middle:]}",
        encoding="utf-8",
    )
    return path
