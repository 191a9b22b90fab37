"""
What vectors of another maker's collection have to be like, so that they are searched rightly.
"""

from __future__ import annotations

from qdrant_client import grpc as wire

from adapters.attachment import Attachment
from assembler.errors import IndexUnusable


def missing(index: str, attachment: Attachment) -> IndexUnusable:
    """
    Return what it means that a collection is not there.
    """
    problem = f"its collection {attachment.collection!r} is missing; attach one that is there"
    return IndexUnusable(index, problem)


def dense_vectors(info: wire.CollectionInfo) -> dict[str, wire.VectorParams]:
    """
    Return the dense vectors of a collection by name; "" for those without one.
    """
    sent = info.config.params.vectors_config
    known: dict[str, wire.VectorParams] = dict(sent.params_map.map)
    if sent.HasField("params"):
        known[""] = sent.params
    return known


def names_of(info: wire.CollectionInfo) -> str:
    """
    Return the names of the dense vectors in words.
    """
    return ", ".join(repr(name) for name in sorted(dense_vectors(info))) or "none"


def unfit(params: wire.VectorParams) -> str | None:
    """
    Return why scores of vectors are no cosines, and the remedy; None where they are.
    """
    if params.distance != wire.Cosine:
        distance = wire.Distance.Name(params.distance)
        return (
            f"its vectors are compared by {distance}, and scores have to be cosines; make it with "
            "the distance Cosine"
        )
    if params.HasField("multivector_config"):
        return (
            "it has several vectors for each point, and scores have to be cosines of one; name a "
            "vector that has one"
        )
    return None


def misfit(attachment: Attachment, info: wire.CollectionInfo) -> str | None:
    """
    Return in what a collection is not what was attached, and the remedy; None where it is.
    """
    params = dense_vectors(info).get(attachment.vector)
    again = "make it as it was, or run `attach` again and restart the services that read its file"
    if params is None:
        return (
            f"it has no dense vectors {attachment.vector!r}, which were attached; there are: "
            f"{names_of(info)}; {again}"
        )
    problem = unfit(params)
    if problem is None and params.size != attachment.dimension:
        return (
            f"its vectors have {params.size} dimensions, those that were attached "
            f"{attachment.dimension}; {again}"
        )
    return problem
