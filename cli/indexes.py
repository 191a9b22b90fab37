"""
`context-assembler indexes`: look at indexes, and keep them in order.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from adapters.records import Retention
from adapters.store import IndexListing, IndexStore
from assembler.errors import IndexUnknown, InvalidRequest
from cli.chat import forget_answers
from cli.options import AsJson, IndexName, TenantName, show_json
from indexer.diff import diff_revisions
from server.backend import make_store
from server.settings import Settings

app = typer.Typer(help="The indexes that are there, and their upkeep.", no_args_is_help=True)
CHANGE_COLOURS = {"ADDED": "green", "CHANGED": "yellow", "ENDED": "red"}

AnyTenant = Annotated[str | None, typer.Option("--tenant", help="Only this one. Default: all.")]
SourceName = Annotated[str, typer.Argument(help="Its source id.")]


@app.callback()
def group() -> None:
    """
    The indexes that are there, and their upkeep.
    """


@app.command("list")
def list_indexes(tenant: AnyTenant = None, as_json: AsJson = False) -> None:  # noqa: FBT002 - a flag of the command line
    """
    List the indexes with their version, revisions, sources, chunks, model and filterable fields.
    """
    listings = sorted(make_store(Settings()).listings(tenant), key=lambda item: item.name)
    facts = [_facts(one) for one in listings]
    if as_json:
        show_json(facts)
        return
    names = ("index", "tenant", "version", "kept", "sources", "chunks", "languages", "model")
    table = Table(*names, "fields")
    for fact in facts:
        kept = fact["revisions"]
        assert isinstance(kept, list)  # noqa: S101 - made in `_facts`
        table.add_row(
            *(str(fact[name] or "(empty)") for name in ("index", "tenant", "index_version")),
            f"{kept[0]['revision']}-{kept[-1]['revision']}" if kept else "none",
            *(str(fact[name]) for name in ("sources", "chunks", "languages", "model", "fields")),
        )
    Console().print(table)


@app.command()
def rollback(
    index: IndexName,
    to: Annotated[
        int | None, typer.Option(help="A kept revision. Default: the one before the head.")
    ] = None,
    head: Annotated[
        int | None,
        typer.Option(
            "--from", help="The revision that is served now; with another nothing is done."
        ),
    ] = None,
    tenant: TenantName = "",
    as_json: AsJson = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """
    Serve an earlier revision again; the next `index` goes on from there. With --to or --from it may
    be run again.
    """
    store = make_store(Settings())
    with store.upkeep(index, tenant) as upkeep:
        before = f"{upkeep.ledger.generation}.{upkeep.ledger.revision}"
        version = str(upkeep.roll_back(to, at=time.time(), head=head))
    if as_json:
        show_json({"index": index, "tenant": tenant, "before": before, "index_version": version})
        return
    _say(f"index version [bold]{version}[/], was {before}")


@app.command()
def diff(
    index: IndexName,
    before: Annotated[
        int | None, typer.Argument(help="A kept revision. Default: the one before.")
    ] = None,
    after: Annotated[int | None, typer.Argument(help="Another. Default: the head.")] = None,
    tenant: TenantName = "",
    as_json: AsJson = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """
    Show which sources were added, changed and ended between two revisions.
    """
    ledger = listing_of(make_store(Settings()), index, tenant).ledger
    new = ledger.revision if after is None else after
    earlier = [one.revision for one in ledger.revisions if one.revision < new]
    if before is None and not earlier:
        raise InvalidRequest("before", f"no revision before {new} is kept")
    old = earlier[-1] if before is None else before
    changes = diff_revisions(ledger, old, new)
    if as_json:
        shown = [asdict(one) | {"change": one.change.value} for one in changes]
        show_json({"index": index, "tenant": tenant, "before": old, "after": new, "changes": shown})
        return
    for one in changes:
        kind = one.change.value
        labels = " → ".join(", ".join(part) for part in (one.before, one.after) if part)
        _say(f"[{CHANGE_COLOURS[kind]}]{kind.lower():8}[/] {one.source_id}  {labels}")
    _say(f"{len(changes)} of the sources differ between revisions {old} and {new}")


@app.command()
def gc(
    index: IndexName,
    keep: Annotated[
        int | None, typer.Option(help="Revisions to keep. Default: setting retained_revisions.")
    ] = None,
    retired_seconds: Annotated[
        float | None,
        typer.Option(help="How long to keep a replaced one. Default: the setting of this name."),
    ] = None,
    tenant: AnyTenant = None,
    as_json: AsJson = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """
    Delete what no kept revision sees, and generations that no tenant needs.
    """
    settings = Settings()
    store = make_store(settings)
    retention = Retention(
        settings.retained_revisions if keep is None else keep,
        settings.retired_seconds if retired_seconds is None else retired_seconds,
    )
    tenants = [one.tenant for one in store.listings(tenant) if one.name == index]
    if not tenants:
        raise IndexUnknown(index)
    done = []
    for name in tenants:
        with store.upkeep(index, name) as upkeep:
            collected = upkeep.collect(retention, at=time.time())
        done.append({"index": index, "tenant": name, **asdict(collected)})
        if not as_json:
            _say(
                f"{index} {name or '(empty)'}: {collected.revisions} revisions, "
                f"{collected.points} points and {len(collected.generations)} generations removed; "
                f"kept {', '.join(map(str, collected.kept))}"
            )
    if as_json:
        show_json(done)


@app.command()
def purge(
    source: SourceName,
    index: IndexName,
    tenant: TenantName = "",
    as_json: AsJson = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """
    Remove a source from every revision for good; `index` leaves it out until `unpurge`.

    What a model wrote about it goes too, from the file of answers of this machine.
    """
    settings = Settings()
    with make_store(settings).upkeep(index, tenant) as upkeep:
        done = upkeep.purge(source, at=time.time())
    forget_answers(settings, source)
    if as_json:
        show_json({"index": index, "tenant": tenant, **asdict(done)})
        return
    _say(f"{source}: {done.points} points and {done.rows} rows of the ledger removed for good")


@app.command()
def unpurge(
    source: SourceName,
    index: IndexName,
    tenant: TenantName = "",
    as_json: AsJson = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """
    Allow a purged source to be indexed again; what was removed stays removed.
    """
    with make_store(Settings()).upkeep(index, tenant) as upkeep:
        upkeep.lift_purge(source)
    if as_json:
        show_json({"index": index, "tenant": tenant, "source_id": source})
        return
    _say(f"{source} may be indexed again")


def listing_of(store: IndexStore, index: str, tenant: str) -> IndexListing:
    """
    Return a tenant's part of an index.

    Raises:
        IndexUnknown: It has none.
    """
    known: Sequence[IndexListing] = store.listings(tenant)
    for one in known:
        if one.name == index:
            return one
    raise IndexUnknown(index, tuple(sorted(one.name for one in known)))


def _facts(one: IndexListing) -> dict[str, object]:
    ledger = one.ledger
    live = [row for row in ledger.rows if ledger.revision < row.to_rev]
    fields = sorted(one.manifest.fields.items())
    return {
        "index": one.name,
        "tenant": one.tenant,
        "index_version": f"{ledger.generation}.{ledger.revision}",
        "revisions": [asdict(summary) for summary in ledger.revisions],
        "sources": len(live),
        "chunks": sum(row.chunks for row in live),
        "languages": ", ".join(sorted({row.language for row in live if row.language})),
        "model": one.manifest.embedding.model.name,
        "fields": ", ".join(f"{name}:{kind.value}" for name, kind in fields),
        "purged": [asdict(tombstone) for tombstone in ledger.tombstones],
    }


def _say(text: str) -> None:
    Console().print(text, highlight=False)
