"""
An index that tenants of several sizes share.

The documents belong to the empty tenant, as in `bench.corpus`; every other one's part is filler,
and the empty tenant's fills up what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adapters.edge_store import EdgeStore
from adapters.embedder import OnnxEmbedder
from bench.big_index import add_filler, models
from bench.corpus import Corpus, corpus, question_set
from indexer.ports import Progress
from indexer.prepare import manifest_of


@dataclass(frozen=True, slots=True)
class Tenant:
    """
    Who holds a part of an index.

    Attributes:
        share: Of the index's chunks, in (0, 1).
        chunks: How many there are in the part.
    """

    name: str
    share: float
    chunks: int


def shared_corpus(
    folder: Path,
    chunks: int,
    shares: Sequence[float],
    *,
    model_dir: Path,
    work: Path,
    progress: Progress,
) -> tuple[Corpus, list[Tenant]]:
    """
    Return an index of at least so many chunks, and its tenants by their shares of it.

    Args:
        folder: Documents, as `bench.corpus` takes them.
        chunks: Of the whole index.
        shares: One tenant each, in (0, 1).
        model_dir: The exported embedding model.
        work: Indexes are kept here between runs.
        progress: Told how far it is.

    Raises:
        ValueError: There are no documents.
    """
    names = {f"holds-{share:g}": share for share in sorted(shares)}
    place = work / f"shared-{chunks}"
    made = corpus(folder, 1, model_dir=model_dir, work=place, progress=progress)
    store, embedder = EdgeStore(made.data_dir), OnnxEmbedder(model_dir)
    found = question_set(folder, 1, place)
    real = models([found], {found.name: made.index}, made.data_dir, embedder)
    given = manifest_of(embedder.spec, {})

    def filled(tenant: str, asked: int) -> int:
        there = _there(store, made.index, tenant)
        if there >= asked:
            return there
        return add_filler(store, made.index, real, asked, progress, tenant=tenant, made_with=given)

    tenants = [
        Tenant(name, share, filled(name, max(round(share * chunks), 1)))
        for name, share in names.items()
    ]
    others = sum(one.chunks for one in tenants)
    return replace(made, chunks=others + filled("", chunks - others)), tenants


def _there(store: EdgeStore, index: str, tenant: str) -> int:
    return sum(
        row.chunks for one in store.listings(tenant) if one.name == index for row in one.ledger.rows
    )
