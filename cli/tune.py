"""
`context-assembler tune`: fit one weight on a team's own questions.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from adapters.token_counters import TokenizerFolder
from assembler.errors import InvalidRequest, ProfileUnknown
from assembler.profile import Profile
from assembler.request import Target
from assembler.scope import Scope, VersionPolicy
from cli.options import MOST_INT, TenantName
from cli.progress import COLUMNS
from evaluation.bootstrap import Estimate
from evaluation.team_questions import StoredTexts, read_team_questions
from evaluation.trials import Trials
from evaluation.try_values import Asker
from evaluation.weights import Weight, profiles_with
from server.backend import make_backend
from server.bootstrap import make_embedder, make_reranker
from server.profiles import add_profile, check_addition, read_profiles
from server.settings import Settings

POINTS = 100.0
N = TypeVar("N", int, float)
Figure: TypeAlias = Callable[[float, int | None], Estimate]
"""By value and budget; without a budget, over all."""


@dataclass(frozen=True, slots=True)
class Asked:
    """
    What a run is to try.

    Attributes:
        questions: The file.
        limit: The first so many questions; None asks all.
        profile: The one to start from; None takes the index's own.
    """

    target: Target
    questions: Path
    limit: int | None
    profile: str | None
    weight: Weight
    values: tuple[float, ...]
    budgets: tuple[int, ...]
    tokenizer: str


def tune(
    index: Annotated[str, typer.Option(help="The index that the questions are about.")],
    questions: Annotated[
        Path,
        typer.Option(
            help='JSON lines: {"question", "evidence": [{"source_id", "version"?, "text"}]}; '
            "start and end may stand in place of text."
        ),
    ],
    tenant: TenantName = "",
    principal: Annotated[list[str] | None, typer.Option(help="Who asks; repeatable.")] = None,
    all_versions: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--all-versions", help="Ask of superseded versions too.")
    ] = False,
    profile: Annotated[
        str | None, typer.Option(help="The profile to start from. Default: the index's own.")
    ] = None,
    weight: Annotated[Weight, typer.Option(help="The one number that is fitted.")] = Weight.BM25,
    values: Annotated[
        str | None, typer.Option(help="Values with commas. Default: depends on the weight.")
    ] = None,
    budgets: Annotated[str, typer.Option(help="Tokens with commas.")] = "512,1024,4096",
    tokenizer: Annotated[str, typer.Option(help="The generator's tokenizer.")] = "o200k_base",
    limit: Annotated[
        int | None, typer.Option(min=1, max=MOST_INT, help="The first so many questions.")
    ] = None,
    write: Annotated[
        Path | None, typer.Option(help="File of profiles that a better one is added to.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of that profile.")] = None,
) -> None:
    """
    Fit one weight on your own questions: recall of their evidence with each value.

    Says which value is significantly better than the current one, or to keep what you have.
    Nothing is written without --write.
    """
    if (write is None) != (name is None):
        raise InvalidRequest("write", "and name go together; give both or none")
    if write is not None and name is not None:
        check_addition(write, name)
    settings, console = Settings(), Console(highlight=False)
    policy = VersionPolicy.ALL if all_versions else VersionPolicy.ACTIVE
    scope = Scope(tenant, None if principal is None else tuple(principal), versions=policy)
    asked = Asked(
        target=Target(index, scope),
        questions=questions,
        limit=limit,
        profile=profile,
        weight=weight,
        values=_numbers("values", values, float) if values else weight.usual_values,
        budgets=_numbers("budgets", budgets, int),
        tokenizer=tokenizer,
    )
    if min(asked.budgets) < 1:
        raise InvalidRequest("budgets", f"must be whole numbers above 0, got {budgets!r}")
    trials, profiles = asyncio.run(_tried(settings, asked))
    show_trials(console, trials)
    verdict = trials.verdict()
    if verdict.value is None:
        kept = "; nothing is written" if write is not None else ""
        console.print(f"[bold]keep what you have[/]: {verdict.reason}{kept}")
        return
    console.print(f"[bold]{weight.value} = {verdict.value:g}[/]: {verdict.reason}")
    console.print("before you rely on it, check it on questions that were not asked here")
    if write is not None and name is not None:
        add_profile(write, replace(profiles[verdict.value], name=name))
        console.print(f"profile {name} is added to {write}")


async def _tried(settings: Settings, asked: Asked) -> tuple[Trials, Mapping[float, Profile]]:
    """
    Return what was measured with each value, and the profile that has it.
    """
    backend = make_backend(settings)
    try:
        catalog, index = backend.index, asked.target.index
        state = await catalog.resolve(index, asked.target.scope.tenant)
        current = _profile(settings, asked.profile or state.profile)
        try:
            profiles = profiles_with(asked.weight, asked.values, current)
        except ValueError as error:
            raise InvalidRequest("values", str(error)) from error
        texts = StoredTexts(catalog, backend.index, index, asked.target.scope)
        questions = await read_team_questions(asked.questions, texts, asked.limit)
        asker = Asker(
            catalog=catalog,
            chunk_index=backend.index,
            embedder=make_embedder(settings),
            counters=TokenizerFolder(settings.tokenizer_dir),
            reranker=make_reranker(settings),
            tokenizer=asked.tokenizer,
        )
        with Progress(*COLUMNS, console=Console(stderr=True), transient=True) as bars:
            total = len(questions) * len(profiles) * len(asked.budgets)
            bar = bars.add_task("asking", total=total)
            trials = await asker.try_values(
                asked.weight,
                profiles,
                current=asked.weight.of(current),
                questions=questions,
                target=asked.target,
                budgets=asked.budgets,
                tell=lambda done: bars.advance(bar, done),
            )
    finally:
        await backend.close()
    return trials, profiles


def show_trials(console: Console, trials: Trials) -> None:
    """
    Print recall by value and budget and, for a price, the tokens of the contexts.
    """
    weight, fill = trials.weight.value, trials.weight.fill.value
    sure = f"{POINTS * trials.strict:.4g} %"
    table = Table(
        weight,
        *(f"recall % at {budget}" for budget in trials.budgets),
        f"mean over budgets ({sure})",
        title=f"{trials.questions} questions, fill {fill}: evidence recall, and its change against "
        f"{weight} = {trials.current:g} with 95 % intervals",
    )
    _rows(table, trials, trials.recall, trials.recall_change, POINTS)
    console.print(table)
    if trials.weight is Weight.PRICE:
        table = Table(
            weight,
            *(f"tokens at {budget}" for budget in trials.budgets),
            f"mean over budgets ({sure})",
            title="tokens of the contexts, and their change",
        )
        _rows(table, trials, trials.tokens, trials.tokens_change, 1.0)
        console.print(table)


def _rows(table: Table, trials: Trials, mean: Figure, change: Figure, factor: float) -> None:
    for value in trials.by_value:
        cells = []
        for budget in (*trials.budgets, None):
            cell = f"{factor * mean(value, budget).value:.1f}"
            if value != trials.current:
                one = change(value, budget)
                low, high = factor * one.low, factor * one.high
                cell += f"\n{factor * one.value:+.1f} ({low:+.1f} to {high:+.1f})"
            cells.append(cell)
        mark = "\ncurrent" if value == trials.current else ""
        table.add_row(f"{value:g}{mark}", *cells)


def _profile(settings: Settings, name: str) -> Profile:
    profiles = read_profiles(settings.profiles_file)
    if name not in profiles:
        raise ProfileUnknown(name, tuple(sorted(profiles)))
    return profiles[name]


def _numbers(field: str, text: str, kind: Callable[[str], N]) -> tuple[N, ...]:
    try:
        found = tuple(dict.fromkeys(kind(one) for one in text.split(",")))
        is_finite = all(map(math.isfinite, found))
    except (ValueError, OverflowError):
        is_finite = False
    if not is_finite:
        raise InvalidRequest(field, f"must be finite numbers with commas, got {text!r}")
    return found
