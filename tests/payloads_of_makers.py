"""
What libraries wrote into Qdrant: own texts, cut by their splitters and written by their stores.

LangChain: langchain-qdrant 1.1.0, langchain-core 1.8.3, langchain-text-splitters 1.1.3. LlamaIndex:
llama-index-vector-stores-qdrant 0.10.4, llama-index-core 0.14.25. Both through qdrant-client 1.20.0.
"""

from __future__ import annotations

import json
from typing import Any

from qdrant_client.http import models as rest

TEXT = (
    "Goods can be returned within 30 days. Refunds are paid within a week. "
    "Gift cards are not paid back."
)
"""The text that both were given, as the source `refunds.md`."""

LANGCHAIN: tuple[dict[str, Any], ...] = (
    {
        "page_content": "Goods can be returned within 30 days. Refunds",
        "metadata": {"source": "refunds.md", "start_index": 0},
    },
    {
        "page_content": "are paid within a week. Gift cards are not",
        "metadata": {"source": "refunds.md", "start_index": 46},
    },
    {"page_content": "paid back.", "metadata": {"source": "refunds.md", "start_index": 89}},
)
"""Cut by a RecursiveCharacterTextSplitter of 45 letters, with add_start_index."""

LANGCHAIN_BARE: dict[str, Any] = {"page_content": "Goods can be returned.", "metadata": {}}
"""A text that was given without metadata."""

_FIRST, _SECOND = "71273f26-4732-4826-8400-682ff25d74ce", "989a53fe-fc10-43fc-9aa0-5c50933240fa"
_HASH = "cbd13abb0e3c8e8747a429868dd16e1c298ea5a9c1151b7734645b1c03fdcdab"
_DOCUMENT = {
    "node_id": "refunds.md",
    "node_type": "4",
    "metadata": {"file_name": "refunds.md"},
    "hash": _HASH,
    "class_name": "RelatedNodeInfo",
}
_NODE: dict[str, Any] = {
    "embedding": None,
    "metadata": {"file_name": "refunds.md"},
    "excluded_embed_metadata_keys": ["file_name"],
    "excluded_llm_metadata_keys": ["file_name"],
    "metadata_template": "{key}: {value}",
    "metadata_separator": "\n",
    "mimetype": "text/plain",
    "text_template": "{metadata_str}\n\n{content}",
    "class_name": "TextNode",
}
_NODES: tuple[dict[str, Any], ...] = (
    {
        **_NODE,
        "id_": _FIRST,
        "relationships": {
            "1": _DOCUMENT,
            "3": {
                "node_id": _SECOND,
                "node_type": "1",
                "metadata": {},
                "hash": "200851c6c165e3e4ca73f05a3bf402324960029e662aa20605ff5b4f91343271",
                "class_name": "RelatedNodeInfo",
            },
        },
        "text": "Goods can be returned within 30 days.",
        "start_char_idx": 0,
        "end_char_idx": 37,
    },
    {
        **_NODE,
        "id_": _SECOND,
        "relationships": {
            "1": _DOCUMENT,
            "2": {
                "node_id": _FIRST,
                "node_type": "1",
                "metadata": {"file_name": "refunds.md"},
                "hash": "c25c3a7eaeb7ec477ec1b7b75247cfe48fb2d050f709d850659037d12d802704",
                "class_name": "RelatedNodeInfo",
            },
        },
        "text": "Refunds are paid within a week. Gift cards are not paid back.",
        "start_char_idx": 38,
        "end_char_idx": 99,
    },
)

LLAMAINDEX: tuple[dict[str, Any], ...] = tuple(
    {
        "file_name": "refunds.md",
        "_node_content": json.dumps(node, ensure_ascii=False),
        "_node_type": "TextNode",
        "document_id": "refunds.md",
        "doc_id": "refunds.md",
        "ref_doc_id": "refunds.md",
    }
    for node in _NODES
)
"""Cut by a SentenceSplitter of 16 tokens, from a document with an id."""

LLAMAINDEX_WHOLE: dict[str, Any] = {
    "file_name": "b.md",
    "_node_content": json.dumps(
        {
            "id_": "6f9619ff-8b86-4011-b42d-00cf4fc964ff",
            "embedding": None,
            "metadata": {"file_name": "b.md"},
            "excluded_embed_metadata_keys": [],
            "excluded_llm_metadata_keys": [],
            "relationships": {},
            "metadata_template": "{key}: {value}",
            "metadata_separator": "\n",
            "text_resource": {
                "embeddings": None,
                "text": "Whole document.",
                "path": None,
                "url": None,
                "mimetype": None,
            },
            "image_resource": None,
            "audio_resource": None,
            "video_resource": None,
            "text_template": "{metadata_str}\n\n{content}",
            "class_name": "Document",
            "text": "Whole document.",
        },
        ensure_ascii=False,
    ),
    "_node_type": "Document",
    "document_id": "None",
    "doc_id": "None",
    "ref_doc_id": "None",
}
"""A document that was inserted as a node, without a splitter."""

_SPARSE = rest.SparseVector(indices=[1, 2], values=[0.5, 0.5])


def collections(size: int) -> dict[str, dict[str, Any]]:
    """
    Return what each store's ways of making a collection pass to Qdrant, for cosine.
    """
    one = rest.VectorParams(size=size, distance=rest.Distance.COSINE)
    sparse = rest.SparseVectorParams()
    return {
        "langchain": {"vectors_config": {"": one}, "sparse_vectors_config": {}},
        "langchain hybrid": {
            "vectors_config": {"": one},
            "sparse_vectors_config": {"langchain-sparse": sparse},
        },
        "llamaindex": {"vectors_config": one},
        "llamaindex hybrid": {
            "vectors_config": {"text-dense": one},
            "sparse_vectors_config": {"text-sparse-new": sparse},
        },
    }


def vectors(way: str, values: list[float]) -> Any:
    """
    Return the vectors of a point as the store writes them, by the way its collection was made.
    """
    return {
        "langchain": {"": values},
        "langchain hybrid": {"": values, "langchain-sparse": _SPARSE},
        "llamaindex": {"": values},
        "llamaindex hybrid": {"text-dense": values, "text-sparse-new": _SPARSE},
    }[way]
