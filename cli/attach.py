"""
`context-assembler attach`: read a collection of another maker as an index.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from adapters.attached_check import Looked, capabilities, look_at, similarity_of
from adapters.attachment import Attachment, PayloadMapping, add_attached, mapping_of
from adapters.index_names import require_index_name
from adapters.qdrant_ledger import ledger_collection
from assembler.errors import IndexUnusable, InvalidRequest
from assembler.ports import Embedder
from cli.options import AsJson, show_json
from server.bootstrap import make_embedder
from server.qdrant_backend import check_scope, qdrant_server
from server.settings import Settings

LEAST_SIMILARITY = 0.6
"""Vectors of one model for a text, and for it with its metadata, are nearer than that; those of two
models are not near at all."""

PathOf = Annotated[str | None, typer.Option(help="Its path in payloads, as in `metadata.page`.")]


def attach(
    name: Annotated[str, typer.Argument(help="The name of the index that it is read as.")],
    collection: Annotated[str, typer.Option(help="The collection on the Qdrant server.")],
    preset: Annotated[
        str | None, typer.Option(help="Whose payloads they are: langchain or llamaindex.")
    ] = None,
    text: PathOf = None,
    source: PathOf = None,
    version: PathOf = None,
    content: PathOf = None,
    start: PathOf = None,
    end: PathOf = None,
    ordinal: PathOf = None,
    section: PathOf = None,
    tenant: PathOf = None,
    vector: Annotated[
        str | None, typer.Option(help="The name of the dense vector, where there are several.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="The model of its vectors, where the service has another: queries bring"
            " vectors then."
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="The file that is written. Default: setting attached_file."),
    ] = None,
    as_json: AsJson = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """
    Read a collection of another maker as an index: look at it, say what it can and cannot do, and
    write that into the file that services read. Nothing is written to the server.
    """
    settings = Settings()
    require_index_name(name)
    mapping = _mapping(
        preset,
        text=text,
        source=source,
        version=version,
        content=content,
        start=start,
        end=end,
        ordinal=ordinal,
        section=section,
        tenant=tenant,
    )
    path = file or settings.attached_file
    if path is None:
        raise InvalidRequest("file", "name the file to write, or set attached_file")
    check_scope(settings, path, name, mapping)
    looked = _looked(settings, name, collection, mapping, vector)
    similarity, attachment = (
        None,
        Attachment(
            collection=collection,
            mapping=mapping,
            model=model or "unknown",
            dimension=looked.dimension,
            vector=looked.vector,
        ),
    )
    if model is None:
        embedder = make_embedder(settings)
        similarity = asyncio.run(similarity_of(embedder, looked.sample))
        attachment = own_model(attachment, embedder, looked, similarity)
    add_attached(path, name, attachment)
    _show(name, path, attachment, looked, similarity, as_json=as_json)


def own_model(
    attachment: Attachment, embedder: Embedder, looked: Looked, similarity: float
) -> Attachment:
    """
    Return the attachment with the service's own model, which its vectors have to be of.

    Raises:
        IndexUnusable: They are not.
    """
    identity = embedder.identity
    if similarity < LEAST_SIMILARITY:
        how = (
            f"have {looked.dimension} dimensions, the model {identity.dimension}"
            if identity.dimension != looked.dimension
            else f"have a cosine of {similarity:.2f} with the model's of the same texts"
        )
        raise IndexUnusable(
            attachment.collection,
            f"its vectors are not of this service's model {identity.name!r}: they {how}; start it "
            "with their model, or name that with --model and send query vectors",
        )
    return Attachment(
        collection=attachment.collection,
        mapping=attachment.mapping,
        model=identity.name,
        model_sha256=identity.sha256,
        dimension=attachment.dimension,
        vector=attachment.vector,
    )


def _mapping(preset: str | None, **paths: str | None) -> PayloadMapping:
    missing = [one for one in ("text", "source") if preset is None and paths[one] is None]
    if missing:
        raise InvalidRequest(missing[0], "is needed where no --preset is named")
    try:
        return mapping_of(preset, **paths)
    except ValueError as error:
        raise InvalidRequest("mapping", str(error)) from error


def _looked(
    settings: Settings, name: str, collection: str, mapping: PayloadMapping, vector: str | None
) -> Looked:
    if settings.qdrant_url is None:
        raise InvalidRequest("qdrant_url", "is not set: only a server's collections are attached")
    server = qdrant_server(settings)
    client = server.writer()
    try:
        looked = look_at(client, collection, mapping, vector, server.timeout_seconds)
        taken = {one.name for one in client.get_collections().collections}
    finally:
        client.close()
    if ledger_collection(name) in taken:
        raise InvalidRequest("name", f"{name!r} is an index of ours; choose another")
    sample = looked.sample
    if not sample.fitting:
        problem = f"none of {sample.points} points fits the mapping; lacking: {sample.lacking}"
        raise InvalidRequest("mapping", problem)
    return looked


def _show(
    name: str,
    path: Path,
    attachment: Attachment,
    looked: Looked,
    similarity: float | None,
    *,
    as_json: bool,
) -> None:
    sample = looked.sample
    placed = sum(point.span is not None for point, _ in sample.fitting)
    able = capabilities(attachment.mapping)
    if as_json:
        show_json(
            {
                "index": name,
                "file": str(path),
                "index_version": str(attachment.version),
                "collection": attachment.collection,
                "model": attachment.model,
                "similarity": similarity,
                "points": looked.points,
                "sampled": sample.points,
                "fitting": len(sample.fitting),
                "with_offsets": placed,
                "lacking": dict(sample.problems),
                "unindexed": looked.unindexed,
                "capabilities": able,
            }
        )
        return
    how = "queries have to bring vectors" if similarity is None else f"cosine {similarity:.2f}"
    lines = [
        f"{attachment.collection} is read as index {name}; written to {path}",
        f"{looked.points} points; of {sample.points}, {len(sample.fitting)} fit the mapping",
        f"{placed} of these have offsets",
        *(f"{count} have no {key}, or not of its type" for key, count in sample.problems.items()),
        f"model: {attachment.model}, {how}",
        *able,
        *(
            f"{key} has no payload index: reads are slow until it gets one"
            for key in looked.unindexed
        ),
    ]
    for line in lines:
        Console().print(line, highlight=False, markup=False)
