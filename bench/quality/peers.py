"""
The peers beside ours: the same documents, questions, budgets and embedding model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from adapters.embedder import OnnxEmbedder
from adapters.token_counters import TokenizerFolder
from bench.peers import systems
from bench.peers.embedding import PeerEmbedding
from bench.peers.run import measured
from bench.quality.one_set import Place
from bench.quality.options import TOKENIZER
from evaluation.question_set import QuestionSet

VECTORS = "peer-vectors.sqlite"


def measure_peers(
    asked: QuestionSet, place: Place, budgets: Sequence[int], *, has_sizes: bool
) -> dict[str, Any]:
    """
    Return the report of `bench.peers` on a set, with every size of each peer or the documented one.

    Raises:
        PeerMissing: A library is not installed.
    """
    builders = systems(has_sizes=has_sizes)
    count = TokenizerFolder(place.tokenizer_dir).get(TOKENIZER).count
    model = OnnxEmbedder(place.model_dir)
    embed = PeerEmbedding(model, count, place.work / VECTORS)
    *_, report = measured(asked, builders, embed, budgets=budgets)
    return report


def best_peer(report: dict[str, Any], budget: int) -> float:
    """
    Return the highest evidence recall of any peer at a budget.
    """
    rows = report["systems"].values()
    return max(float(one["budgets"][str(budget)]["evidence_recall"]) for one in rows)


def show_peers(console: Console, report: dict[str, Any], budgets: Sequence[int]) -> None:
    """
    Print the peers' recall by budget.
    """
    table = Table("peer", *map(str, budgets), title=f"{report['set']}: evidence recall % of peers")
    for name, row in report["systems"].items():
        recalls = (row["budgets"][str(one)]["evidence_recall"] for one in budgets)
        table.add_row(name, *(f"{100 * recall:.1f}" for recall in recalls))
    console.print(table)
