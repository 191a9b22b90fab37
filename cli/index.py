"""
`context-assembler index`: the everyday command that writes an index.
"""

from __future__ import annotations

import enum
import functools
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from adapters.embedder import OnnxEmbedder
from adapters.model_export import export_model
from adapters.model_files import DESCRIPTION
from assembler.errors import InvalidRequest
from assembler.model import FieldType
from cli.chat import chat_of
from cli.options import MOST_INT, AsJson, TenantName, show_json
from cli.progress import progress_bars
from cli.strategies import settings_of
from indexer.build_report import BuildReport
from indexer.index import run_index
from indexer.request import DEFAULT_SET, IndexRequest, Summary
from server.backend import make_store, require_own
from server.profiles import read_profiles
from server.settings import Settings

SHOWN_WARNINGS = 5
SHOWN_HIDDEN = 3


class Readers(enum.Enum):
    """
    Whether sources without readers are hidden from everybody.
    """

    REQUIRED = "required"
    OPTIONAL = "optional"


def read_request(
    name: Annotated[str, typer.Option("--index", help=r"Name, \[a-z0-9-]{1,40}.")],
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Files and folders: the full desired state.")
    ] = None,
    tenant: TenantName = "",
    version: Annotated[str | None, typer.Option(help="Label of every file's version.")] = None,
    language: Annotated[
        str | None, typer.Option(help="Of every file: BCP 47 or English name. Default: detected.")
    ] = None,
    sources: Annotated[
        Path | None,
        typer.Option(
            help="JSON lines: path (below the folder that is given, or absolute), and source_id, "
            "version, active, title, uri, media_type, language, readers, metadata."
        ),
    ] = None,
    source_set: Annotated[str, typer.Option(help="The set whose state this is.")] = DEFAULT_SET,
    field: Annotated[
        list[str] | None,
        typer.Option(
            help="Filterable metadata, name:type (keyword, keyword_list, bool, int64, "
            "timestamp); repeatable. Default: as the index has it."
        ),
    ] = None,
    upsert: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option(help="Add or replace; leave the other sources.")
    ] = False,
    remove: Annotated[list[str] | None, typer.Option(help="Source to end; repeatable.")] = None,
    keep_versions: Annotated[
        int, typer.Option(min=0, max=MOST_INT, help="Earlier versions that stay readable.")
    ] = 0,
    readers: Annotated[
        Readers | None,
        typer.Option(
            help="Whether a source without readers is hidden. Default: required once one is named."
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            help="Of requests that name none: a built-in one, or one of "
            "CONTEXT_ASSEMBLER_PROFILES_FILE. Default: as the index has it; for a new one the "
            "model's own."
        ),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            help="How texts are cut, see `strategies`. Default: as the index has it; for a new "
            "one structure."
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(help="Of the strategy, key=value; repeatable. Default: see --strategy."),
    ] = None,
    as_json: AsJson = False,  # noqa: FBT002 - a flag of the command line
) -> tuple[IndexRequest, bool]:
    """
    Return what the options ask for, and whether the answer is to be JSON.

    Raises:
        InvalidRequest: They say nothing, or contradict each other.
    """
    request = IndexRequest(
        index=name,
        paths=tuple(paths or ()),
        tenant=tenant,
        version=version,
        language=language,
        sources_file=sources,
        source_set=source_set,
        schema=_schema(field),
        upsert=upsert,
        remove=tuple(remove or ()),
        keep_versions=keep_versions,
        readers_required=None if readers is None else readers is Readers.REQUIRED,
        profile=profile,
        strategy=strategy,
        strategy_settings=settings_of(setting),
    )
    if not request.paths and not request.remove:
        raise InvalidRequest("paths", "are missing; name files or folders, or --remove a source")
    return request, as_json


def with_request(run: Callable[[IndexRequest, bool], None]) -> Callable[..., None]:
    """
    Return a command that takes the options of `index`.
    """

    @functools.wraps(read_request)
    def command(**options: Any) -> None:
        run(*read_request(**options))

    command.__doc__ = run.__doc__
    command.__name__ = run.__name__
    return command


@with_request
def index(request: IndexRequest, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """
    Index files: what is new or changed is written, what is missing ends, the rest is carried over.
    """
    summary = index_paths(request, Settings(), Console(stderr=True))
    if as_json:
        show_json(facts_of(summary))
    else:
        show_summary(Console(), summary)


def index_paths(
    request: IndexRequest, settings: Settings, console: Console, *, is_published: bool = True
) -> Summary:
    """
    Run the indexer with a progress bar; the embedding model is exported first where it is missing.
    """
    require_own(settings, request.index)
    embedder = embedder_of(settings, console)
    store = make_store(settings)
    profiles = tuple(read_profiles(settings.profiles_file))
    with progress_bars(console) as show:
        return run_index(
            request,
            store,
            embedder,
            show,
            profiles=profiles,
            is_published=is_published,
            chat=chat_of(settings),
        )


def embedder_of(settings: Settings, console: Console) -> OnnxEmbedder:
    """
    Return the embedding model, exported first where it is missing.
    """
    if not (settings.model_dir / DESCRIPTION).exists():
        console.print(f"exporting the embedding model to {settings.model_dir}")
        export_model(None, settings.model_dir)
    return OnnxEmbedder(settings.model_dir, threads=settings.threads)


def facts_of(summary: Summary) -> dict[str, object]:
    """
    Return what a run did, for programs.
    """
    unreadable = [{"path": one.path, "reason": one.reason} for one in summary.unreadable]
    plain = replace(
        summary, unreadable=[], report=BuildReport(), reasons=Counter(), counts=Counter()
    )
    return asdict(plain) | {
        "unreadable": unreadable,
        "report": summary.report.facts(),
        "reasons": dict(summary.reasons),
        "counts": dict(summary.counts),
    }


def show_summary(console: Console, summary: Summary) -> None:
    """
    Print what a run did, and every file that it could not read.
    """
    for one in summary.unreadable:
        console.print(f"[yellow]not read[/] {escape(str(one))}", markup=True, highlight=False)
    if summary.hidden:
        names = ", ".join(summary.hidden[:SHOWN_HIDDEN])
        more = ", …" if len(summary.hidden) > SHOWN_HIDDEN else ""
        console.print(
            f"{len(summary.hidden)} hidden files and folders passed over: {escape(names)}{more}",
            highlight=False,
        )
    for warning in summary.warnings[:SHOWN_WARNINGS]:
        console.print(f"[yellow]warning[/] {escape(warning)}", highlight=False)
    if len(summary.warnings) > SHOWN_WARNINGS:
        more_warnings = len(summary.warnings) - SHOWN_WARNINGS
        console.print(f"[yellow]warning[/] {more_warnings} more; --json lists all")
    for reason, count in sorted(summary.reasons.items()):
        console.print(f"{count} documents cut by {reason}", highlight=False)
    for what, count in sorted(summary.counts.items()):
        console.print(f"{count} {what}", highlight=False)
    for line in summary.report.lines():
        console.print(escape(line), highlight=False)
    if not (summary.is_published or summary.is_built):
        console.print(f"nothing changed; index version {summary.index_version or 'none'}")
        return
    console.print(
        f"{'built' if summary.is_built else 'index version'} "
        f"[bold]{summary.index_version}[/]: {summary.documents} documents "
        f"({summary.written} written, {summary.unchanged} unchanged, {summary.ended} ended), "
        f"{summary.sections} sections, {summary.chunks} chunks, {summary.tokens} tokens, "
        f"{summary.embedded} embedded, {summary.reused} reused, {summary.seconds:.1f} s",
        highlight=False,
    )


def _schema(fields: list[str] | None) -> dict[str, FieldType] | None:
    if fields is None:
        return None
    schema = {}
    for text in fields:
        name, _, kind = text.partition(":")
        known = {one.value: one for one in FieldType}
        if not name or kind not in known:
            raise InvalidRequest("field", f"{text!r} is not name:type; types: {', '.join(known)}")
        if name in schema:
            raise InvalidRequest("field", f"{name} is given twice")
        schema[name] = known[kind]
    return schema
