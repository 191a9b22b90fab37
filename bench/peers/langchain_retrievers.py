"""
LangChain: parent documents, and chunks by vectors or by vectors and BM25, as its pages show them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.peers.items import CANDIDATES, Builder, Embedding, Item, Retrieve, Vector
from bench.peers.libraries import library
from bench.peers.places import Places
from evaluation.question_set import Document

SOURCE = "source"
PLACE = "start_index"
OVERLAP = 0.1
WEIGHTS = (0.5, 0.5)


def parents(child_chars: int, parent_chars: int, **options: int) -> Builder:
    """
    Return `ParentDocumentRetriever`: small children are searched, their parents are returned.

    Args:
        child_chars: The size of what is searched.
        parent_chars: The size of what is returned.
        options: Of both splitters, such as ``chunk_overlap``; its default is 200 characters.
    """

    def build(documents: Sequence[Document], embed: Embedding) -> Retrieve:
        core = library("langchain_core.documents")
        splitter = library("langchain_text_splitters").RecursiveCharacterTextSplitter
        retriever = library("langchain_classic.retrievers").ParentDocumentRetriever(
            vectorstore=_store(embed),
            docstore=library("langchain_classic.storage").InMemoryStore(),
            child_splitter=splitter(chunk_size=child_chars, **options),
            parent_splitter=splitter(chunk_size=parent_chars, add_start_index=True, **options),
        )
        places = {one.doc_id: Places(one.text) for one in documents}
        retriever.add_documents(
            [
                core.Document(page_content=one.text, metadata={SOURCE: one.doc_id})
                for one in documents
            ]
        )

        def retrieve(question: str, limit: int = CANDIDATES) -> list[Item]:
            retriever.search_kwargs = {"k": limit}
            found = retriever.invoke(question)
            return [
                Item(
                    one.metadata[SOURCE],
                    places[one.metadata[SOURCE]].find(one.page_content, hint=one.metadata[PLACE]),
                    one.page_content,
                )
                for one in found
            ]

        return retrieve

    return build


def chunks(chunk_tokens: int) -> Builder:
    """
    Return chunks of `RecursiveCharacterTextSplitter` in the order of their vectors.
    """

    def build(documents: Sequence[Document], embed: Embedding) -> Retrieve:
        store = _store(embed)
        store.add_documents(_chunks(documents, chunk_tokens, embed))

        def retrieve(question: str, limit: int = CANDIDATES) -> list[Item]:
            return _items(store.similarity_search(question, k=limit))

        return retrieve

    return build


def hybrid(chunk_tokens: int) -> Builder:
    """
    Return the same chunks by `EnsembleRetriever` of BM25 (lower case, blanks) and vectors.
    """

    def build(documents: Sequence[Document], embed: Embedding) -> Retrieve:
        parts = _chunks(documents, chunk_tokens, embed)
        store = _store(embed)
        store.add_documents(parts)
        words = library("langchain_community.retrievers").BM25Retriever.from_documents(
            parts, preprocess_func=lambda text: text.lower().split()
        )
        vectors = store.as_retriever()
        ensemble = library("langchain_classic.retrievers").EnsembleRetriever(
            retrievers=[words, vectors], weights=list(WEIGHTS)
        )

        def retrieve(question: str, limit: int = CANDIDATES) -> list[Item]:
            words.k = limit
            vectors.search_kwargs = {"k": limit}
            return _items(ensemble.invoke(question)[:limit])

        return retrieve

    return build


class _Embeddings:
    """
    The shared model under the names that LangChain calls.
    """

    def __init__(self, embed: Embedding) -> None:
        self._embed = embed

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return self._embed.documents(texts)

    def embed_query(self, text: str) -> Vector:
        return self._embed.query(text)


def _store(embed: Embedding) -> Any:
    return library("langchain_core.vectorstores").InMemoryVectorStore(_Embeddings(embed))


def _chunks(documents: Sequence[Document], chunk_tokens: int, embed: Embedding) -> list[Any]:
    """
    Return the chunks of all documents with their places.

    `add_start_index` does not help here: it takes the overlap, given in tokens, for characters.
    """
    splitter = library("langchain_text_splitters").RecursiveCharacterTextSplitter(
        chunk_size=chunk_tokens,
        chunk_overlap=int(chunk_tokens * OVERLAP),
        length_function=embed.count_tokens,
    )
    document = library("langchain_core.documents").Document
    made = []
    for one in documents:
        texts = splitter.split_text(one.text)
        for text, span in zip(texts, Places(one.text).find_all(texts), strict=True):
            made.append(document(page_content=text, metadata={SOURCE: one.doc_id, PLACE: span}))
    return made


def _items(found: Sequence[Any]) -> list[Item]:
    return [Item(one.metadata[SOURCE], one.metadata[PLACE], one.page_content) for one in found]
