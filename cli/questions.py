"""
`context-assembler questions`: check a file of questions, and help to make one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.markup import escape

from adapters.records import TenantLedger
from assembler.errors import InvalidRequest
from assembler.scope import Scope, VersionPolicy
from cli.options import TenantName
from evaluation.check_questions import CheckedQuestions, check_questions
from evaluation.passages import exact_places, near_places
from evaluation.team_questions import GivenTexts, StoredTexts, TextMissing, Texts
from indexer.read_all import read_all
from indexer.request import IndexRequest, Summary
from server.backend import make_backend, make_store
from server.settings import Settings

T = TypeVar("T")
Everything = Mapping[tuple[str, str], str]
NOTHING_YET = TenantLedger(None, 0, readers_required=False, rows=(), revisions=())

app = typer.Typer(
    help="Check a file of questions, and find where a quoted passage stands.", no_args_is_help=True
)
Documents = Annotated[
    list[Path] | None, typer.Option("--docs", help="Files and folders, in place of an index.")
]
Principals = Annotated[list[str] | None, typer.Option("--principal", help="Who reads; repeatable.")]
Index = Annotated[str | None, typer.Option(help="The index that the questions are about.")]


@app.command("check")
def check(
    questions: Annotated[
        Path, typer.Argument(help="JSON lines, as `compare` and `tune` take them.")
    ],
    index: Index = None,
    docs: Documents = None,
    tenant: TenantName = "",
    principal: Principals = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write: the usable lines with versions and positions filled in."),
    ] = None,
) -> None:
    """
    Check every line: do sources exist, do positions and texts agree, is anything ambiguous?

    Exit code 1 where a line cannot be used.
    """

    async def checked(texts: Texts, everything: Everything) -> CheckedQuestions:
        return await check_questions(questions, texts, everything)

    found = _with_texts(index, docs, _scope(tenant, principal), checked)
    console = Console(highlight=False)
    for one in found.findings:
        kind = "[red]wrong[/]" if one.is_error else "[yellow]note[/]"
        console.print(f"{kind} {escape(str(one))}", soft_wrap=True)
    console.print(f"{len(found.questions)} questions can be used")
    if out is not None:
        out.write_text(found.as_lines(), encoding="utf-8")
        console.print(f"written to {escape(str(out))}")
    if not found.is_sound:
        raise typer.Exit(1)


@app.command("find")
def find(
    passage: Annotated[str, typer.Argument(help="The passage, copied from a document.")],
    index: Index = None,
    docs: Documents = None,
    tenant: TenantName = "",
    principal: Principals = None,
    source: Annotated[str | None, typer.Option(help="Only in this source.")] = None,
) -> None:
    """
    Print where a passage stands, as evidence of a question: one JSON object per place.

    Where it stands nowhere as it is, places where it stands nearly so. Exit code 1 where there is
    none, or where there are several and it is ambiguous.
    """

    async def everything_of(_: Texts, everything: Everything) -> Everything:
        return everything

    everything = _with_texts(index, docs, _scope(tenant, principal), everything_of)
    texts = {name: text for name, text in everything.items() if source in (None, name[0])}
    if source is not None and not texts:
        raise InvalidRequest("source", f"{source!r} is not among the documents")
    for look, kind in ((exact_places, "as it is"), (near_places, "nearly so")):
        places = [(name, one) for name, text in texts.items() for one in look(passage, text)]
        for name, span in places:
            row = {
                "source_id": name[0],
                "version": name[1],
                "start": span.start,
                "end": span.end,
                "text": span.slice(texts[name]),
            }
            typer.echo(json.dumps(row, ensure_ascii=False))
        if places:
            told = "once" if len(places) == 1 else f"at {len(places)} places: ambiguous"
            typer.echo(f"stands {kind} {told}", err=True)
            raise typer.Exit(0 if len(places) == 1 else 1)
    typer.echo("stands nowhere", err=True)
    raise typer.Exit(1)


def _scope(tenant: str, principal: list[str] | None) -> Scope:
    principals = None if principal is None else tuple(principal)
    return Scope(tenant, principals, versions=VersionPolicy.ALL)


def _with_texts(
    index: str | None,
    docs: list[Path] | None,
    scope: Scope,
    use: Callable[[Texts, Everything], Awaitable[T]],
) -> T:
    """
    Return what comes of the texts of an index, or of documents that are read as `index` reads them.
    """
    if (index is None) == (docs is None):
        raise InvalidRequest("index", "or docs is needed, and not both")
    if docs is not None:
        summary = Summary()
        request = IndexRequest("questions", tuple(docs))
        reads, _ = read_all(request, {}, NOTHING_YET, summary, lambda *_: None)
        for one in summary.unreadable:
            typer.echo(f"not read {one}", err=True)
        given = {name: read.text for name, read in reads.items()}
        return asyncio.run(_used(use, GivenTexts(given), given))
    return asyncio.run(_of_index(Settings(), str(index), scope, use))


async def _used(
    use: Callable[[Texts, Everything], Awaitable[T]], texts: Texts, everything: Everything
) -> T:
    return await use(texts, everything)


async def _of_index(
    settings: Settings,
    index: str,
    scope: Scope,
    use: Callable[[Texts, Everything], Awaitable[T]],
) -> T:
    backend = make_backend(settings)
    try:
        await backend.index.resolve(index, scope.tenant)
        texts = StoredTexts(backend.index, backend.index, index, scope)
        everything: dict[tuple[str, str], str] = {}
        for listing in make_store(settings).listings(scope.tenant):
            rows = listing.ledger.rows if listing.name == index else ()
            for row in rows:
                if listing.ledger.revision < row.to_rev:
                    try:
                        _, text = await texts.text(row.source_id, row.version)
                    except TextMissing:
                        continue  # its readers are others
                    everything[row.source_id, row.version] = text
        return await use(texts, everything)
    finally:
        await backend.close()
