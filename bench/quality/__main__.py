"""
`python -m bench.quality`: how much of the evidence is in the context, at which cost.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from assembler.errors import ContextAssemblerError, ProfileUnknown
from assembler.profile import PROFILES
from assembler.request import ExpansionMode, Format, Order, RetrievalMode
from bench.command import command, run, write_json
from bench.options import WORK, Limit, Out
from bench.peers import PeerMissing, systems
from bench.quality import foreign as foreign_sets
from bench.quality.given import budgets_of, set_names
from bench.quality.one_set import measure_foreign, measure_set, place_of
from bench.quality.options import BUDGETS, FillChoice, Options
from bench.quality.peers import measure_peers, show_peers
from bench.quality.picture import PictureImpossible, check_drawing, draw
from bench.quality.prepare import NotIndexed
from bench.quality.results import as_json
from bench.quality.run import limited
from bench.quality.stored import EvidenceMoved
from bench.quality.tables import show, show_headline, wide_console
from evaluation.json_lines import QuestionSetInvalid
from evaluation.question_set import read_set

FAILURES = (
    ContextAssemblerError,
    EvidenceMoved,
    NotIndexed,
    OSError,
    PeerMissing,
    PictureImpossible,
    QuestionSetInvalid,
    ValueError,
)


def quality(
    folder: Annotated[Path, typer.Option("--data", help="Folder of the sets' folders.")],
    sets: Annotated[list[str], typer.Option("--set", help="Name of a set, or all; repeatable.")],
    questions: Annotated[
        Path | None, typer.Option(help="Questions in place of the set's own; one set only.")
    ] = None,
    foreign: Annotated[
        str | None,
        typer.Option(
            help="Another set, whose questions the index of the one --set cannot answer: the "
            "tokens under AUTO of both are measured and nothing else, at "
            f"{','.join(map(str, foreign_sets.BUDGETS))} unless --budgets says otherwise."
        ),
    ] = None,
    budgets: Annotated[
        str | None,
        typer.Option(help=f"Tokens with commas. Default: {','.join(map(str, BUDGETS))}."),
    ] = None,
    fill: Annotated[FillChoice, typer.Option(case_sensitive=False)] = FillChoice.BOTH,
    expansion: Annotated[ExpansionMode, typer.Option(case_sensitive=False)] = ExpansionMode.AUTO,
    order: Annotated[Order, typer.Option(case_sensitive=False)] = Order.RELEVANCE,
    form: Annotated[Format, typer.Option("--format", case_sensitive=False)] = Format.MARKDOWN,
    mode: Annotated[
        RetrievalMode, typer.Option(help="What searches.", case_sensitive=False)
    ] = RetrievalMode.HYBRID,
    section_limit: Annotated[
        int | None, typer.Option(min=1, help="Sections read. Default: the profile's.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help=f"One of {', '.join(PROFILES)}. Default: the model's own.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Exported model folder, or a sentence-transformers name to export."),
    ] = None,
    pinned: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--pinned", help="Read a question's version alone, where it has one.")
    ] = False,
    scoped: Annotated[  # noqa: FBT002 - as above
        bool, typer.Option("--scoped", help="Read a question's documents alone, where it has some.")
    ] = False,
    limit: Limit = None,
    ablations: Annotated[  # noqa: FBT002 - as above
        bool, typer.Option("--ablations", help="Also without each weight of the profile.")
    ] = False,
    baselines: Annotated[  # noqa: FBT002 - as above
        bool, typer.Option(help="Also the restated baselines.")
    ] = True,
    peers: Annotated[  # noqa: FBT002 - as above
        bool, typer.Option("--peers", help="Also other libraries; needs the group `peers`.")
    ] = False,
    peer_sizes: Annotated[  # noqa: FBT002 - as above
        bool, typer.Option("--peer-sizes", help="The same, with every size of theirs.")
    ] = False,
    processes: Annotated[int, typer.Option(min=1, help="That share the questions.")] = 2,
    out: Out = None,
    picture: Annotated[Path | None, typer.Option(help="Where recall is drawn, .png.")] = None,
    work: Annotated[Path, typer.Option(help="Keeps indexes and models.")] = WORK,
    fresh: Annotated[  # noqa: FBT002 - as above
        bool, typer.Option("--fresh", help="Index again what is indexed already.")
    ] = False,
) -> None:
    """
    Measure the contexts of a question set: ours, and restated baselines on the same index.

    Exit code 1 when a context has more tokens than its budget.
    """
    if picture is not None:
        check_drawing()
    has_peers = peers or peer_sizes
    if has_peers:
        systems(has_sizes=peer_sizes)
    if profile is not None and profile not in PROFILES:
        raise ProfileUnknown(profile, tuple(sorted(PROFILES)))
    names = set_names(folder, sets)
    if questions is not None and len(names) > 1:
        raise ValueError("--questions belongs to one set; name one --set")
    if foreign is not None and len(names) > 1:
        raise ValueError("--foreign is asked of one set; name one --set")
    usual = BUDGETS if foreign is None else foreign_sets.BUDGETS
    options = Options(
        budgets=usual if budgets is None else budgets_of(budgets),
        fill=fill,
        expansion=expansion,
        order=order,
        form=form,
        mode=mode,
        section_limit=section_limit,
        profile=profile,
        is_pinned=pinned,
        is_scoped=scoped,
        baselines=baselines,
        ablations=ablations,
    )
    place = place_of(model, work)
    console, found = wide_console(), []
    reports: dict[str, dict[str, Any]] = {}
    if foreign is not None:
        (other,) = set_names(folder, [foreign])
        both = measure_foreign(
            limited(read_set(folder / names[0], questions), limit),
            limited(read_set(folder / other), limit),
            options,
            place,
            folder=folder / names[0],
            questions=questions,
            is_fresh=fresh,
        )
        foreign_sets.show_foreign(console, both)
        write_json(out, foreign_sets.foreign_json(both), indent=1)
        _check_over(console, both.over_budget)
        return
    for name in names:
        asked = limited(read_set(folder / name, questions), limit)
        found.append(
            measure_set(
                asked,
                options,
                place,
                questions=questions,
                folder=folder / name,
                processes=processes,
                is_fresh=fresh,
            )
        )
        show(console, found[-1])
        if has_peers:
            reports[name] = measure_peers(asked, place, options.budgets, has_sizes=peer_sizes)
            show_peers(console, reports[name], options.budgets)
    show_headline(console, found)
    shapes = [as_json(one, reports.get(name)) for name, one in zip(names, found, strict=True)]
    write_json(out, shapes if len(shapes) > 1 else shapes[0], indent=1)
    if picture is not None:
        draw(found, picture, reports)
    _check_over(console, sum(one.over_budget for one in found))


def _check_over(console: Console, over: int) -> None:
    if over:
        console.print(f"{over} contexts are over their budget", style="bold red")
        raise typer.Exit(1)


app = command(quality)

if __name__ == "__main__":
    run(app, FAILURES)
