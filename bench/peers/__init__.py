"""
The peers: retrievers of other libraries on the same documents, questions, budgets and embeddings.

They are optional (the dependency group ``peers``) and are imported only when one is built.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bench.peers import dsrag_segments as dsrag
from bench.peers import haystack_retriever as haystack
from bench.peers import langchain_retrievers as langchain
from bench.peers import llamaindex_retrievers as llamaindex
from bench.peers.items import Builder, Item, Retrieve, packed
from bench.peers.libraries import PeerMissing, require

__all__ = ["PEERS", "Builder", "Item", "Peer", "PeerMissing", "Retrieve", "packed", "systems"]


@dataclass(frozen=True, slots=True)
class Peer:
    """
    One retriever of a library.

    Attributes:
        modules: What has to be importable.
        sizes: Builders by their setting; the first is the one its documentation shows.
    """

    modules: tuple[str, ...]
    sizes: Mapping[str, Builder]


PEERS: Mapping[str, Peer] = {
    "langchain-chunks": Peer(
        ("langchain_core", "langchain_text_splitters"),
        {f"{size}t": langchain.chunks(size) for size in (200, 100, 400, 800)},
    ),
    "langchain-hybrid": Peer(
        ("langchain_classic", "langchain_community", "langchain_text_splitters", "rank_bm25"),
        {f"{size}t": langchain.hybrid(size) for size in (200, 100, 400, 800)},
    ),
    "langchain-parent": Peer(
        ("langchain_classic", "langchain_text_splitters"),
        {
            "400/2000": langchain.parents(400, 2000),
            "400/2000 without overlap": langchain.parents(400, 2000, chunk_overlap=0),
            "400/1000": langchain.parents(400, 1000),
            "200/800 without overlap": langchain.parents(200, 800, chunk_overlap=0),
        },
    ),
    "llamaindex-automerge": Peer(
        ("llama_index.core",),
        {
            "/".join(map(str, sizes)): llamaindex.auto_merging(*sizes)
            for sizes in ((2048, 512, 128), (1024, 256, 64), (512, 256, 128), (512, 128))
        },
    ),
    "llamaindex-window": Peer(
        ("llama_index.core",),
        {f"±{size}": llamaindex.sentence_window(size) for size in (3, 1, 2, 5)},
    ),
    "haystack-automerge": Peer(
        ("haystack",),
        {
            "/".join(map(str, sizes)): haystack.auto_merging(*sizes)
            for sizes in ((1024, 256, 64), (512, 128, 32), (256, 64), (256, 128))
        },
    ),
    "dsrag-segments": Peer(
        ("dsrag",),
        {
            "balanced": dsrag.segments("balanced"),
            "precision": dsrag.segments("precision"),
            "find_all": dsrag.segments("find_all"),
            "balanced of 400 characters": dsrag.segments("balanced", 400),
            "balanced by similarity": dsrag.segments("balanced", by_rank=False),
        },
    ),
}
"""The peers by name, each with the sizes that it is tried with."""


def systems(names: Iterable[str] = (), *, has_sizes: bool = False) -> dict[str, Builder]:
    """
    Return a builder per peer, named ``<peer>``, or one per peer and size, ``<peer> <size>``.

    Args:
        names: Names in `PEERS`; none takes all.
        has_sizes: Take every size instead of the documented one.

    Raises:
        ValueError: A name is no peer's.
        PeerMissing: A library that one of them needs is not installed.
    """
    found: dict[str, Builder] = {}
    for name in names or PEERS:
        if name not in PEERS:
            msg = f"{name!r} is no peer; there are {', '.join(PEERS)}"
            raise ValueError(msg)
        require(PEERS[name].modules)
        for number, (size, builder) in enumerate(PEERS[name].sizes.items()):
            if has_sizes:
                found[f"{name} {size}"] = builder
            elif number == 0:
                found[name] = builder
    return found
