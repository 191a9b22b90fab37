"""
`context-assembler compare`: ways to cut, on a team's own documents and questions.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from adapters.records import TenantLedger
from adapters.tokenizer_files import install_tokenizers
from assembler.errors import InvalidRequest
from cli.chat import chat_of
from cli.comparing import Asked, Bench, Reads
from cli.options import MOST_INT
from cli.progress import progress_bars
from cli.ways import DEFAULT, Way, numbers_of, ways_of
from evaluation.comparison import Compared, Comparison
from evaluation.comparison_report import COSTS, as_csv, as_html, as_json, shown, shown_name
from evaluation.question_set import Question, QuestionSet, read_set
from evaluation.team_questions import GivenTexts, document_name, read_team_questions
from indexer.read_all import read_all
from indexer.read_source import CODE, MEDIA_TYPES
from indexer.request import IndexRequest, Summary
from server.settings import Settings

NOTHING_YET = TenantLedger(None, 0, readers_required=False, rows=(), revisions=())
MEDIA_TYPE = {
    "markdown": MEDIA_TYPES[".md"],
    "text": MEDIA_TYPES[".txt"],
    "html": MEDIA_TYPES[".html"],
    "code": CODE,
}


def compare(
    paths: Annotated[list[Path] | None, typer.Argument(help="Files and folders.")] = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            help='JSON lines: {"question", "evidence": [{"source_id", "version"?, "text"}]}; '
            "start and end may stand in place of text."
        ),
    ] = None,
    question_set: Annotated[
        Path | None,
        typer.Option(
            "--set", help="Folder of docs.jsonl, docs/ and questions.dev.jsonl, in place of both."
        ),
    ] = None,
    sources: Annotated[
        Path | None, typer.Option(help="JSON lines about the files, as `index` takes them.")
    ] = None,
    language: Annotated[str | None, typer.Option(help="Of every file. Default: detected.")] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME or NAME:key=value,key=value; repeatable; the first is the one that the "
            f"others are compared with. Default: {', '.join(DEFAULT)}."
        ),
    ] = None,
    sizes: Annotated[str, typer.Option(help="Tokens with commas: each way with each.")] = "",
    overlaps: Annotated[str, typer.Option(help="Tokens with commas: each way with each.")] = "",
    top: Annotated[
        int, typer.Option(min=1, max=MOST_INT, help="Chunks that a question retrieves.")
    ] = 5,
    budgets: Annotated[
        str,
        typer.Option(help="Tokens with commas: recall of whole contexts too, from an index each."),
    ] = "",
    tokenizer: Annotated[str, typer.Option(help="Counts the budgets.")] = "o200k_base",
    limit: Annotated[
        int | None, typer.Option(min=1, max=MOST_INT, help="The first so many questions.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the reports.")] = Path("comparison"),
    work: Annotated[
        Path | None,
        typer.Option(help="Folder of vectors and results that are kept. Default: `work` in --out."),
    ] = None,
) -> None:
    """
    Compare ways to cut on your own documents and questions: what is found, and what it costs.

    Writes report.html, report.json and report.csv. What was measured before is not measured again.
    """
    settings = Settings()
    ways = ways_of(
        strategy or DEFAULT, numbers_of("sizes", sizes, 1), numbers_of("overlaps", overlaps, 0)
    )
    console = Console()
    store = work or out / "work"
    asked = _asked(paths, questions, question_set, sources, language, store, console)
    asked = replace(
        asked,
        questions=asked.questions[:limit],
        top=top,
        budgets=numbers_of("budgets", budgets, 1),
        tokenizer=tokenizer,
    )
    if asked.budgets:
        install_tokenizers(settings.tokenizer_dir)
    bench = Bench(
        asked,
        model_dir=settings.model_dir,
        tokenizer_dir=settings.tokenizer_dir,
        work=store,
        threads=settings.threads,
        chat=chat_of(settings),
    )
    bench.check(ways)
    comparison = Comparison(tuple(asyncio.run(_all(bench, ways, console))))
    out.mkdir(parents=True, exist_ok=True)
    title = f"Ways to cut {len(asked.reads)} documents"
    (out / "report.html").write_text(as_html(comparison, title), encoding="utf-8")
    (out / "report.json").write_text(as_json(comparison), encoding="utf-8")
    (out / "report.csv").write_text(as_csv(comparison), encoding="utf-8")
    show(console, comparison)
    console.print(f"reports: {out / 'report.html'}, report.json, report.csv", highlight=False)


def show(console: Console, comparison: Comparison) -> None:
    """
    Print means, costs and verdicts: chunks alone first, then contexts and costs.
    """
    of_contexts = [one for one in comparison.measures if one.startswith("evidence_recall@")]
    of_chunks = [one for one in comparison.measures if one not in of_contexts]
    costs = ("chunks", "mean_tokens")
    chunks = Table(Column("way", overflow="fold"), *map(shown_name, of_chunks))
    contexts = Table(
        Column("way", overflow="fold"),
        *map(shown_name, of_contexts),
        *(COSTS[key] for key in costs),
    )
    for way in comparison.ways:
        means = {one: f"{100 * way.mean(one).value:.1f}" for one in comparison.measures}
        chunks.add_row(way.name, *(means[one] for one in of_chunks))
        rest = (shown(getattr(way, key)) for key in costs)
        contexts.add_row(way.name, *(means[one] for one in of_contexts), *rest)
    console.print(chunks, contexts)
    for verdict in comparison.verdicts():
        console.print(verdict, highlight=False)


async def _all(bench: Bench, ways: Sequence[Way], console: Console) -> list[Compared]:
    found: list[Compared] = []
    for way in ways:
        with progress_bars(Console(stderr=True)) as show_progress:
            compared, is_known = await bench.measured(way, show_progress)
        found.append(replace(compared, name=way.name))
        said = "measured before" if is_known else f"{compared.chunks} chunks"
        console.print(f"{way.name}: {said}", highlight=False)
    return found


def _asked(
    paths: list[Path] | None,
    questions: Path | None,
    question_set: Path | None,
    sources: Path | None,
    language: str | None,
    work: Path,
    console: Console,
) -> Asked:
    if question_set is not None:
        if paths or questions or sources:
            raise InvalidRequest("set", "brings documents and questions; leave out the others")
        given = read_set(question_set)
        sources = _sources_of(given, work)
        paths = [one.path for one in given.documents.values()]
    elif not paths or questions is None:
        raise InvalidRequest("questions", "and documents are needed, or --set")
    request = IndexRequest("compare", tuple(paths), sources_file=sources, language=language)
    summary = Summary()
    reads, _ = read_all(request, {}, NOTHING_YET, summary, lambda *_: None)
    for one in summary.unreadable:
        console.print(f"[yellow]not read[/] {escape(str(one))}", highlight=False)
    if question_set is not None:
        found = tuple(_renamed(one, reads) for one in given.questions)
    elif questions is not None:
        texts = GivenTexts({name: read.text for name, read in reads.items()})
        found = asyncio.run(read_team_questions(questions, texts))
    return Asked(request, reads, found, top=1, budgets=(), tokenizer="")


def _sources_of(given: QuestionSet, work: Path) -> Path:
    """
    Write what is known of a set's documents where the indexer reads it.
    """
    path = work / "sources" / f"{given.name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (
        json.dumps(
            {
                "path": one.path.name,
                "source_id": one.doc_id,
                "title": one.title,
                "media_type": MEDIA_TYPE[one.doc_format],
                "language": one.lang,
            }
        )
        for one in given.documents.values()
    )
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def _renamed(question: Question, reads: Reads) -> Question:
    """
    Return the question with its documents named as the index names them.
    """
    names = {source_id: document_name(source_id, version) for source_id, version in reads}
    return replace(
        question,
        evidence=tuple(replace(one, doc_id=names[one.doc_id]) for one in question.evidence),
        scope_doc_ids=tuple(names[one] for one in question.scope_doc_ids),
    )
