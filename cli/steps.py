"""
`context-assembler indexes plan`, `build`, `verify` and `publish`: the steps of `index`, one by one.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from cli.chat import chat_of
from cli.index import embedder_of, facts_of, index_paths, show_summary, with_request
from cli.options import MOST_INT, AsJson, IndexName, TenantName, show_json
from cli.progress import progress_bars
from indexer.estimate import IndexPlan, plan_index
from indexer.request import IndexRequest
from indexer.verify import SAMPLES, Verified, verify_index
from server.backend import make_store
from server.profiles import read_profiles
from server.settings import Settings

SHOWN_NAMES = 10


@with_request
def plan(request: IndexRequest, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """
    Show what `index` would do, with its tokens and time; writes nothing.
    """
    settings, console = Settings(), Console(stderr=True)
    embedder = embedder_of(settings, console)
    with progress_bars(console) as show:
        found = plan_index(
            request,
            make_store(settings),
            embedder,
            show,
            profiles=tuple(read_profiles(settings.profiles_file)),
            chat=chat_of(settings, asks=False),
        )
    if as_json:
        unreadable = [asdict(one) for one in found.unreadable]
        show_json(asdict(found) | {"reused": found.reused, "unreadable": unreadable})
    else:
        show_plan(Console(), found)


@with_request
def build(request: IndexRequest, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """
    Write the next revision without publishing it: `verify --build` checks it, `publish` serves it.

    Any other change of the tenant's part discards it; of an embedded index, any other change.
    """
    summary = index_paths(request, Settings(), Console(stderr=True), is_published=False)
    if as_json:
        show_json(facts_of(summary))
    else:
        show_summary(Console(), summary)


def publish(index: IndexName, tenant: TenantName = "", as_json: AsJson = False) -> None:  # noqa: FBT002 - a flag of the command line
    """
    Serve the build that waits, by one write of the head.
    """
    version = str(make_store(Settings()).publish_build(index, tenant))
    if as_json:
        show_json({"index": index, "tenant": tenant, "index_version": version})
    else:
        Console().print(f"index version [bold]{version}[/]", highlight=False)


def verify(
    index: IndexName,
    of_build: Annotated[bool, typer.Option("--build", help="The build that waits.")] = False,  # noqa: FBT002 - a flag of the command line
    samples: Annotated[
        int,
        typer.Option(
            min=0, max=MOST_INT, help="Chunks to search for by their own text and vector."
        ),
    ] = SAMPLES,
    tenant: TenantName = "",
    as_json: AsJson = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """
    Check what is stored against the ledger: counts, offsets, hashes, orphans, sample searches.

    Exit code 1 where something is wrong.
    """
    found = verify_index(index, tenant, make_store(Settings()), of_build=of_build, samples=samples)
    if as_json:
        show_json(asdict(found))
    else:
        show_verified(Console(), found)
    if not found.is_whole:
        raise typer.Exit(1)


def show_plan(console: Console, found: IndexPlan) -> None:
    """
    Print what a run would do.
    """
    for one in found.unreadable:
        console.print(f"[yellow]not read[/] {escape(str(one))}", highlight=False)
    if found.is_new_generation:
        console.print(
            f"a new generation, {found.generation}: the configuration changes, everything is "
            "written again",
            highlight=False,
        )
    for kind in ("added", "changed", "ended", "readers"):
        names: tuple[str, ...] = getattr(found, kind)
        if names:
            more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
            console.print(
                f"{kind:8} {len(names)}: {', '.join(names[:SHOWN_NAMES])}{more}", highlight=False
            )
    console.print(
        f"{found.unchanged} unchanged; {found.chunks} chunks to write, {found.embedded} to embed "
        f"({found.reembedded} of sources that are there), {found.reused} reused; "
        f"{found.tokens} tokens, about {found.seconds:.1f} s of embedding",
        highlight=False,
    )


def show_verified(console: Console, found: Verified) -> None:
    """
    Print what a check found.
    """
    for problem in found.problems:
        console.print(f"[red]wrong[/] {problem}", highlight=False)
    console.print(
        f"{found.index_version}: {found.sources} source versions, {found.sections} sections, "
        f"{found.chunks} chunks; {found.problem_count} problems; of {found.samples} chunks "
        f"{found.found_by_vector} found by vector, {found.found_by_text} by text",
        highlight=False,
    )
