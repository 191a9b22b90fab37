"""
Haystack: auto-merging over a hierarchy of word blocks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from assembler.span import Span
from bench.peers.items import CANDIDATES, Builder, Embedding, Item, Retrieve
from bench.peers.libraries import library
from bench.peers.places import Places
from evaluation.question_set import Document

SOURCE = "doc_id"
PARENT = "__parent_id"
CHILDREN = "__children_ids"
PLACE = "split_idx_start"


def auto_merging(*block_words: int) -> Builder:
    """
    Return `AutoMergingRetriever` over blocks of so many words.

    A document that is shorter than the smallest block has no parent, and the retriever raises on
    it: it is left out.
    """

    def build(documents: Sequence[Document], embed: Embedding) -> Retrieve:
        haystack, merging = library("haystack"), _merging()
        store_of = library("haystack.document_stores.in_memory").InMemoryDocumentStore
        splitter = library("haystack.components.preprocessors").HierarchicalDocumentSplitter(
            block_sizes=set(block_words), split_overlap=0, split_by="word"
        )
        whole = [
            haystack.Document(content=one.text, meta={SOURCE: one.doc_id}) for one in documents
        ]
        blocks = splitter.run(whole)["documents"]
        places = _places(documents, blocks)
        leaves = [one for one in blocks if not one.meta[CHILDREN] and one.meta[PARENT]]
        vectors = embed.documents([one.content for one in leaves])
        leaves = [
            dataclasses.replace(leaf, embedding=vector)
            for leaf, vector in zip(leaves, vectors, strict=True)
        ]
        leaf_store, parent_store = store_of(embedding_similarity_function="cosine"), store_of()
        leaf_store.write_documents(leaves)
        parent_store.write_documents([one for one in blocks if one.meta[CHILDREN]])
        searching = library("haystack.components.retrievers").InMemoryEmbeddingRetriever(leaf_store)
        merger = merging(parent_store)

        def retrieve(question: str, limit: int = CANDIDATES) -> list[Item]:
            found = searching.run(query_embedding=list(embed.query(question)), top_k=limit)
            merged = merger.run(found["documents"])["documents"]
            return [Item(one.meta[SOURCE], places[one.id], one.content) for one in merged]

        return retrieve

    return build


def _merging() -> Any:
    return library("haystack.components.retrievers.auto_merging_retriever").AutoMergingRetriever


def _places(documents: Sequence[Document], blocks: Sequence[Any]) -> Mapping[str, Span | None]:
    """
    Return where blocks stand, parents before children: a block says where it stands in its parent.
    """
    texts = {one.doc_id: Places(one.text) for one in documents}
    places: dict[str, Span | None] = {}
    for block in blocks:
        around = places.get(block.meta[PARENT])
        begins = around.start if around else 0
        hint = begins + block.meta.get(PLACE, 0)
        places[block.id] = texts[block.meta[SOURCE]].find(block.content, hint=hint, after=begins)
    return places
