"""
`python -m bench.answers`: does evidence in the context help an answer?

Nothing runs it but a person who names an endpoint.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from assembler.errors import ContextAssemblerError
from bench.answers.asking import chosen, verdicts
from bench.answers.chat import Chat, EndpointFailed, Replies
from bench.answers.figures import Figures, as_json, show, show_cost
from bench.command import command, write_json
from bench.options import WORK, Limit, Out
from bench.quality.given import budgets_of, set_names
from bench.quality.one_set import COLUMNS, job_of, place_of, prepared_set
from bench.quality.options import Options
from bench.quality.prepare import NotIndexed
from bench.quality.run import Runner, limited
from bench.quality.stored import EvidenceMoved
from bench.quality.tables import wide_console
from evaluation.json_lines import QuestionSetInvalid
from evaluation.question_set import read_set

FAILURES = (
    ContextAssemblerError,
    EndpointFailed,
    EvidenceMoved,
    NotIndexed,
    OSError,
    QuestionSetInvalid,
    ValueError,
)


def answers(
    folder: Annotated[Path, typer.Option("--data", help="Folder of the sets' folders.")],
    name: Annotated[str, typer.Option("--set", help="Name of a set.")],
    endpoint: Annotated[str, typer.Option(help="Base URL; /v1/chat/completions is appended.")],
    answer_model: Annotated[str, typer.Option(help="Answers from the context.")],
    judge_model: Annotated[str, typer.Option(help="Compares answer and known evidence.")],
    api_key_env: Annotated[
        str | None, typer.Option(help="Environment variable that holds the endpoint's key.")
    ] = None,
    questions: Annotated[
        Path | None, typer.Option(help="Questions in place of the set's own.")
    ] = None,
    budgets: Annotated[str, typer.Option(help="Tokens with commas.")] = "1024",
    limit: Limit = None,
    model: Annotated[str | None, typer.Option(help="Embedding model, as in bench.quality.")] = None,
    parallel: Annotated[int, typer.Option(min=1, help="Contexts in work at once.")] = 4,
    replies: Annotated[
        Path | None,
        typer.Option(help="Keeps replies by hash. Default: answers.jsonl in the work folder."),
    ] = None,
    out: Out = None,
    work: Annotated[Path, typer.Option(help="Keeps indexes, models, replies.")] = WORK,
) -> None:
    """
    Ask a model from our contexts and from the best same-ingredient line's, and a judge of both.
    """
    api_key = None if api_key_env is None else os.environ.get(api_key_env)
    if api_key_env is not None and not api_key:
        raise ValueError(f"--api-key-env names {api_key_env}, which is not set or empty")
    (set_name,) = set_names(folder, [name])
    options = Options(budgets=budgets_of(budgets))
    place = place_of(model, work)
    asked = limited(read_set(folder / set_name, questions), limit)
    chat = Chat(endpoint, api_key=api_key, replies=Replies(replies or work / "answers.jsonl"))
    with Progress(*COLUMNS, console=Console(stderr=True), transient=True) as bars:
        prepared = prepared_set(asked, place, bars, is_fresh=False)
        runner = Runner(
            job_of(asked, options, place, prepared, folder=folder / set_name, questions=questions)
        )
        bar = bars.add_task("contexts", total=len(asked.questions))
        contexts = []
        try:
            for number in range(len(asked.questions)):
                contexts += runner.contexts(number)
                bars.advance(bar)
        finally:
            runner.close()
        to_ask = chosen(contexts, len(asked.questions))
        bar = bars.add_task("answers", total=len(to_ask))
        try:
            found = verdicts(
                chat,
                to_ask,
                asked.questions,
                answer_model=answer_model,
                judge_model=judge_model,
                parallel=parallel,
                tell=lambda done: bars.advance(bar, done),
            )
        finally:
            chat.close()
    console, figures = wide_console(), Figures(found)
    title = (
        f"{set_name}: {len(asked.questions)} questions, answered by {answer_model}, judged by "
        f"{judge_model}, means with 95 % intervals"
    )
    show(console, figures, title)
    show_cost(console, found)
    shape = {"set": set_name, "questions": len(asked.questions), "answer_model": answer_model}
    write_json(out, {**shape, "judge_model": judge_model, "budgets": as_json(figures)}, indent=1)


app = command(answers)


def main() -> None:
    """
    Run the bench; errors that a person can act on are one line and exit code 2.
    """
    try:
        app()
    except FAILURES as error:
        Console(stderr=True, highlight=False).print(f"[bold red]error[/]: {escape(str(error))}")
        sys.exit(2)


if __name__ == "__main__":
    main()
