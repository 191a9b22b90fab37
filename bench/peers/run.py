"""
Run the peers on one question set and report what evidence their contexts hold.

``python -m bench.peers --data DIR --set NAME``
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from adapters.embedder import OnnxEmbedder
from adapters.token_counters import TokenizerFolder
from adapters.tokenizer_files import install_tokenizers
from assembler.errors import ContextAssemblerError
from bench.peers import PEERS, systems
from bench.peers.embedding import PeerEmbedding
from bench.peers.items import CANDIDATES, Builder, Embedding, packed
from bench.peers.libraries import PeerMissing
from evaluation.bootstrap import mean_of
from evaluation.json_lines import QuestionSetInvalid
from evaluation.measures import Shown, evidence_recall, is_fully_covered, precision
from evaluation.question_set import Question, QuestionSet, read_set

BUDGETS = (256, 512, 1024, 2048, 4096)
TOKENIZER = "o200k_base"
PACKING = "in the peer's order until the next no longer fits; a first one is cut"
MODEL = Path("var/models/all-minilm-l6-v2")
TOKENIZERS = Path("var/tokenizers")
PACKAGES = (
    "langchain-classic",
    "langchain-community",
    "langchain-core",
    "langchain-text-splitters",
    "rank-bm25",
    "llama-index-core",
    "haystack-ai",
    "dsrag",
)

Row = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the command and return its exit code.
    """
    options = _options(arguments)
    try:
        asked = read_set(options.data / options.set, options.questions)
        builders = systems(options.peer, has_sizes=options.sizes)
        install_tokenizers(options.tokenizers)
        count = TokenizerFolder(options.tokenizers).get(TOKENIZER).count
        embed = PeerEmbedding(OnnxEmbedder(options.model), count, options.cache, _progress)
        for report in measured(asked, builders, embed, options.limit):
            _write(report, options.json)
    except (ContextAssemblerError, QuestionSetInvalid, PeerMissing, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def measured(
    asked: QuestionSet,
    builders: Mapping[str, Builder],
    embed: Embedding,
    limit: int | None = None,
    budgets: Sequence[int] = BUDGETS,
) -> Iterator[dict[str, Any]]:
    """
    Yield the report of a run after each system, and print a line of it.

    Args:
        asked: Documents and questions.
        builders: The systems by name.
        embed: The model of all of them.
        limit: Take so many questions at even distances; None takes all.
        budgets: In tokens.
    """
    questions = spread(asked.questions, limit)
    for question in questions:
        embed.query(question.text)  # so that no system's time holds the model's
    rows: dict[str, Row] = {}
    for name, builder in builders.items():
        rows[name] = _row(asked, questions, builder, embed, budgets)
        _print(asked.name, name, rows[name])
        yield {
            "set": asked.name,
            "questions": len(questions),
            "settings": {
                "candidates": CANDIDATES,
                "tokenizer": TOKENIZER,
                "packing": PACKING,
                "versions": _versions(),
            },
            "systems": rows,
            "best_of_sizes": best_of_sizes(rows),
        }


def spread(questions: Sequence[Question], limit: int | None) -> Sequence[Question]:
    """
    Return so many questions at even distances, all of them where there are no more.
    """
    if limit is None or limit >= len(questions):
        return questions
    return [questions[number * len(questions) // limit] for number in range(limit)]


def best_of_sizes(rows: Mapping[str, Row]) -> dict[str, dict[str, Row]]:
    """
    Return per peer and budget the highest evidence recall of its sizes, and the size.
    """
    best: dict[str, dict[str, Row]] = {}
    for name, row in rows.items():
        peer, _, size = name.partition(" ")
        for budget, figures in row["budgets"].items():
            recall = figures["evidence_recall"]
            known = best.setdefault(peer, {}).get(budget)
            if known is None or recall > known["evidence_recall"]:
                best[peer][budget] = {
                    "evidence_recall": recall,
                    "size": size or next(iter(PEERS[peer].sizes)),
                }
    return best


def _row(
    asked: QuestionSet,
    questions: Sequence[Question],
    builder: Builder,
    embed: Embedding,
    budgets: Sequence[int],
) -> Row:
    begun = time.perf_counter()
    retrieve = builder(list(asked.documents.values()), embed)
    built = time.perf_counter() - begun
    contexts: dict[int, list[Shown]] = {budget: [] for budget in budgets}
    times, items, lost = [], 0, 0
    for question in questions:
        begun = time.perf_counter()
        found = retrieve(question.text)
        times.append(time.perf_counter() - begun)
        items += len(found)
        lost += sum(item.span is None for item in found)
        for budget, shown in contexts.items():
            shown.append(packed(found, budget, embed.count_tokens))
    return {
        "budgets": {
            str(budget): _figures(questions, shown, budget) for budget, shown in contexts.items()
        },
        "retrieval_ms_p50": round(1000 * statistics.median(times), 1),
        "build_seconds": round(built, 1),
        "items_mean": round(items / len(questions), 1),
        "items_without_place": lost,
    }


def _figures(questions: Sequence[Question], contexts: Sequence[Shown], budget: int) -> Row:
    pairs = list(zip(questions, contexts, strict=True))
    recall = mean_of([evidence_recall(question.evidence, shown) for question, shown in pairs])
    fully = [is_fully_covered(question.evidence, shown) for question, shown in pairs]
    return {
        "evidence_recall": recall.value,
        "evidence_recall_low": recall.low,
        "evidence_recall_high": recall.high,
        "evidence_recall_by_range": statistics.fmean(
            evidence_recall(question.evidence, Shown(shown.ranges, "", shown.tokens))
            for question, shown in pairs
        ),
        "fully_covered": statistics.fmean(fully),
        "precision": statistics.fmean(
            precision(question.evidence, shown) for question, shown in pairs
        ),
        "context_tokens_mean": statistics.fmean(shown.tokens for shown in contexts),
        "over_budget": sum(shown.tokens > budget for shown in contexts),
    }


def _write(report: Mapping[str, Any], path: Path | None) -> None:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _print(set_name: str, name: str, row: Row) -> None:
    recall = " / ".join(
        f"{100 * figures['evidence_recall']:.1f}" for figures in row["budgets"].values()
    )
    sys.stdout.write(f"| {set_name} | {name} | {recall} | {row['retrieval_ms_p50']} ms |\n")
    sys.stdout.flush()


def _progress(done: int, total: int) -> None:
    sys.stderr.write(f"\rembedded {done} of {total}" + ("\n" if done == total else ""))
    sys.stderr.flush()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the sets")
    parser.add_argument("--set", required=True, help="the set's name")
    parser.add_argument("--questions", type=Path, help="a file of questions from elsewhere")
    parser.add_argument("--limit", type=int, help="ask so many questions, at even distances")
    parser.add_argument(
        "--peer", action="append", default=[], help="only this one; may be repeated"
    )
    parser.add_argument("--sizes", action="store_true", help="try other sizes as well")
    parser.add_argument("--json", type=Path, help="write the report there")
    parser.add_argument("--model", type=Path, default=MODEL, help="the exported model's folder")
    parser.add_argument(
        "--tokenizers", type=Path, default=TOKENIZERS, help="the rank files' folder"
    )
    parser.add_argument("--cache", type=Path, help="keep vectors in this file")
    return parser.parse_args(arguments)
