"""
One set from its folder to its results: indexed, asked, measured, with a progress bar.
"""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from adapters.model_files import read_description
from adapters.tokenizer_files import install_tokenizers
from assembler.profile import DEFAULT_PROFILE, PROFILES, profile_of
from bench.quality.foreign import Foreign, context_tokens
from bench.quality.options import TOKENIZER, Job, Options
from bench.quality.prepare import Prepared, model_folder, prepare
from bench.quality.results import Results
from bench.quality.run import measure
from evaluation.question_set import QuestionSet
from indexer.cut_source import FINGERPRINT
from server.settings import Settings

COLUMNS = (
    TextColumn("{task.description:>28}"),
    BarColumn(),
    MofNCompleteColumn(),
    TimeRemainingColumn(),
)


@dataclass(frozen=True, slots=True)
class Place:
    """
    Where things lie that are the same for all sets.

    Attributes:
        work: Indexes and models are kept here between runs.
    """

    work: Path
    model_dir: Path
    tokenizer_dir: Path


def place_of(model: str | None, work: Path) -> Place:
    """
    Return the place with the settings' tokenizers and the named model, else the settings' own.
    """
    settings = Settings()
    install_tokenizers(settings.tokenizer_dir)
    return Place(
        work=work,
        model_dir=model_folder(model, settings.model_dir, work),
        tokenizer_dir=settings.tokenizer_dir,
    )


def measure_set(
    asked: QuestionSet,
    options: Options,
    place: Place,
    *,
    folder: Path,
    questions: Path | None,
    processes: int,
    is_fresh: bool,
) -> Results:
    """
    Return what was measured of a set.

    Args:
        asked: The set with the questions that are asked.
        options: How they are asked.
        place: Where things lie.
        folder: Of the set.
        questions: The file of its questions; None for the set's own.
        processes: That share the questions.
        is_fresh: Index again in any case.

    Raises:
        NotIndexed: A document could not be indexed.
        EvidenceMoved: A stored text is not the one that the evidence counts in.
    """
    name = options.profile or profile_of(read_description(place.model_dir).name)
    options = replace(options, profile=name)  # also where the index was made before the profile
    with Progress(*COLUMNS, console=Console(stderr=True), transient=True) as bars:
        prepared = prepared_set(asked, place, bars, is_fresh=is_fresh)
        job = job_of(asked, options, place, prepared, folder=folder, questions=questions)
        bar = bars.add_task(f"{asked.name} asking", total=len(asked.questions))
        rows = measure(job, len(asked.questions), processes, lambda done: bars.advance(bar, done))
    settings = _settings(options, place, prepared)
    return Results.of(asked.name, len(asked.questions), settings, rows)


def measure_foreign(
    asked: QuestionSet,
    other: QuestionSet,
    options: Options,
    place: Place,
    *,
    folder: Path,
    questions: Path | None,
    is_fresh: bool,
) -> Foreign:
    """
    Return the tokens that the index of a set gives for its own and for another set's questions.

    Args:
        asked: The set with its own questions.
        other: The set whose questions its index cannot answer.
        options: How they are asked; `fill` is AUTO in any case.
        place: Where things lie.
        folder: Of the set.
        questions: The file of its questions; None for the set's own.
        is_fresh: Index again in any case.

    Raises:
        NotIndexed: A document could not be indexed.
    """
    with Progress(*COLUMNS, console=Console(stderr=True), transient=True) as bars:
        prepared = prepared_set(asked, place, bars, is_fresh=is_fresh)
        job = job_of(asked, options, place, prepared, folder=folder, questions=questions)
        found = []
        for one in (asked, other):
            bar = bars.add_task(f"{one.name} asking", total=len(one.questions))
            tell = functools.partial(bars.advance, bar)
            found.append(context_tokens(job, one.questions, tell))
    return Foreign(asked.name, other.name, *found)


def prepared_set(asked: QuestionSet, place: Place, bars: Progress, *, is_fresh: bool) -> Prepared:
    """
    Return the index of a set, made where it is missing, with bars of its stages.

    Raises:
        NotIndexed: A document could not be indexed.
    """
    tasks: dict[str, TaskID] = {}

    def show(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = bars.add_task(f"{asked.name} {stage}")
        bars.update(tasks[stage], completed=done, total=total)

    return prepare(
        asked, model_dir=place.model_dir, work=place.work, progress=show, is_fresh=is_fresh
    )


def job_of(
    asked: QuestionSet,
    options: Options,
    place: Place,
    prepared: Prepared,
    *,
    folder: Path,
    questions: Path | None,
) -> Job:
    """
    Return what a process needs to ask the questions of a set.
    """
    return Job(
        folder=folder,
        questions=questions,
        limit=len(asked.questions),
        index=prepared.index,
        data_dir=prepared.data_dir,
        model_dir=place.model_dir,
        tokenizer_dir=place.tokenizer_dir,
        options=options,
    )


def _settings(options: Options, place: Place, prepared: Prepared) -> dict[str, Any]:
    model = read_description(place.model_dir)
    return {
        "tokenizer": TOKENIZER,
        "fill": options.fill.value,
        "expansion": options.expansion.value,
        "order": options.order.value,
        "format": options.form.value,
        "mode": options.mode.value,
        "section_limit": options.section_limit,
        "is_pinned": options.is_pinned,
        "is_scoped": options.is_scoped,
        "profile": asdict(PROFILES[options.profile or DEFAULT_PROFILE.name]),
        "model": {"name": model.name, "sha256": model.sha256},
        "chunker": FINGERPRINT,
        "index_version": prepared.version,
        "chunks": prepared.chunks,
    }
