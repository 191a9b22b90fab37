"""
LlamaIndex: auto-merging over a hierarchy of nodes, and sentences with their windows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assembler.span import Span
from bench.peers.items import CANDIDATES, Builder, Embedding, Item, Retrieve
from bench.peers.libraries import library
from bench.peers.places import Places
from evaluation.question_set import Document

WINDOW = "window"


def auto_merging(*chunk_tokens: int) -> Builder:
    """
    Return `AutoMergingRetriever` over nodes of these sizes, the largest first.
    """

    def build(documents: Sequence[Document], embed: Embedding) -> Retrieve:
        core, parser = library("llama_index.core"), library("llama_index.core.node_parser")
        merging = library("llama_index.core.retrievers").AutoMergingRetriever
        hierarchy = parser.HierarchicalNodeParser.from_defaults(chunk_sizes=list(chunk_tokens))
        nodes = hierarchy.get_nodes_from_documents(_documents(documents))
        places = _places_of_nodes(documents, nodes)
        storage = core.StorageContext.from_defaults()
        storage.docstore.add_documents(nodes)
        index = _index(parser.get_leaf_nodes(nodes), embed, storage)

        def retrieve(question: str, limit: int = CANDIDATES) -> list[Item]:
            retriever = merging(index.as_retriever(similarity_top_k=limit), storage)
            found = retriever.retrieve(_query(question, embed))
            return [Item(*places[one.node.node_id], one.node.text) for one in found]

        return retrieve

    return build


def sentence_window(sentences: int) -> Builder:
    """
    Return sentences replaced by themselves with so many sentences on each side.
    """

    def build(documents: Sequence[Document], embed: Embedding) -> Retrieve:
        parser = library("llama_index.core.node_parser").SentenceWindowNodeParser.from_defaults(
            window_size=sentences, window_metadata_key=WINDOW, id_func=_same_id
        )
        nodes = parser.get_nodes_from_documents(_documents(documents))
        places = _places_of_windows(documents, nodes, sentences)
        index = _index(nodes, embed)
        replace = library("llama_index.core.postprocessor").MetadataReplacementPostProcessor(
            target_metadata_key=WINDOW
        )

        def retrieve(question: str, limit: int = CANDIDATES) -> list[Item]:
            retriever = index.as_retriever(similarity_top_k=limit)
            found = replace.postprocess_nodes(retriever.retrieve(_query(question, embed)))
            return [Item(*places[one.node.node_id], one.node.text) for one in found]

        return retrieve

    return build


def _same_id(number: int, document: Any) -> str:
    """
    Return an id that is the same in every run: equal sentences are ranked by their ids.
    """
    return f"{document.node_id} {number:06}"


def _documents(documents: Sequence[Document]) -> list[Any]:
    document = library("llama_index.core").Document
    return [document(text=one.text, doc_id=one.doc_id) for one in documents]


def _index(nodes: Sequence[Any], embed: Embedding, storage: Any = None) -> Any:
    """
    Return a vector index of nodes that bring their vectors, so that its own model is never asked.
    """
    vectors = embed.documents([node.get_content("embed") for node in nodes])
    for node, vector in zip(nodes, vectors, strict=True):
        node.embedding = vector
    core = library("llama_index.core")
    unused = core.MockEmbedding(embed_dim=len(vectors[0]))
    return core.VectorStoreIndex(nodes, storage_context=storage, embed_model=unused)


def _query(question: str, embed: Embedding) -> Any:
    return library("llama_index.core").QueryBundle(question, embedding=list(embed.query(question)))


def _places_of_nodes(
    documents: Sequence[Document], nodes: Sequence[Any]
) -> Mapping[str, tuple[str, Span | None]]:
    """
    Return where nodes stand, parents before children.

    A node says where it stands in its parent (`start_char_idx`), at the top in the document.
    """
    texts = {one.doc_id: Places(one.text) for one in documents}
    places: dict[str, tuple[str, Span | None]] = {}
    for node in nodes:
        parent = places.get(node.parent_node.node_id) if node.parent_node else None
        doc_id, around = parent or (node.ref_doc_id, None)
        begins = around.start if around else 0
        hint = None if node.start_char_idx is None else begins + node.start_char_idx
        places[node.node_id] = doc_id, texts[doc_id].find(node.text, hint=hint, after=begins)
    return places


def _places_of_windows(
    documents: Sequence[Document], nodes: Sequence[Any], sentences: int
) -> Mapping[str, tuple[str, Span | None]]:
    """
    Return where the window of every sentence stands: from its first to its last sentence.
    """
    texts = {one.doc_id: Places(one.text) for one in documents}
    by_document: dict[str, list[Any]] = {}
    for node in nodes:
        by_document.setdefault(node.ref_doc_id, []).append(node)
    places: dict[str, tuple[str, Span | None]] = {}
    for doc_id, inside in by_document.items():
        found = [texts[doc_id].find(node.text, hint=node.start_char_idx) for node in inside]
        for number, node in enumerate(inside):
            around = found[max(0, number - sentences) : number + sentences + 1]
            spans = [span for span in around if span is not None]
            whole = Span(spans[0].start, spans[-1].end) if spans else None
            places[node.node_id] = doc_id, whole
    return places
