"""
Every command of `context-assembler`: index, serve, ask, and look at what is there.
"""

from __future__ import annotations

import typer
from contextassembler.client import ContextAssemblerCallError

from adapters.chat import ChatUnavailable
from cli import (
    ask,
    attach,
    compare,
    cut,
    demo,
    index,
    indexes,
    keys,
    look,
    model,
    questions,
    serving,
    steps,
    strategies,
    tune,
    windows,
)
from evaluation.json_lines import QuestionSetInvalid
from indexer.read_source import Unreadable
from server.settings import Settings

FAILURES = (
    *serving.FAILURES,
    ChatUnavailable,
    ContextAssemblerCallError,
    QuestionSetInvalid,
    Unreadable,
)
"""What a person can act on."""

app = typer.Typer(
    name="context-assembler",
    help="Assemble the best context for a question under an exact token budget.\n\n"
    "First `index` some documents, then `serve`, then `ask`. `demo` does all three. "
    "Settings come from the environment (CONTEXT_ASSEMBLER_…, see `serve --help`).",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command("index")(index.index)
indexes.app.command("plan")(steps.plan)
indexes.app.command("build")(steps.build)
indexes.app.command("verify")(steps.verify)
indexes.app.command("publish")(steps.publish)
app.add_typer(indexes.app, name="indexes")
app.add_typer(keys.app, name="keys")
app.add_typer(model.app, name="model")
app.add_typer(questions.app, name="questions")
app.command("attach")(attach.attach)
app.command("ask")(ask.ask)
app.command("source")(look.source)
app.command("tokenizers")(look.tokenizers)
app.command("count")(look.count)
app.command("compare")(compare.compare)
app.command("tune")(tune.tune)
app.command("strategies")(strategies.strategies)
app.command("cut")(cut.cut)
app.command("windows")(windows.windows)
app.command("demo")(demo.demo)


def _settings_help() -> str:
    lines = [
        f"CONTEXT_ASSEMBLER_{name.upper()}: {field.description} Default: {field.default}."
        for name, field in Settings.model_fields.items()
    ]
    return "Serve until SIGTERM. Settings, from the environment:\n\n" + "\n\n".join(lines)


app.command("serve", help=_settings_help())(serving.serve)
