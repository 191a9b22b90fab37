"""
From measured contexts to figures: means, counts, and the ratio of misses.
"""

from __future__ import annotations

from dataclasses import replace

from bench.quality.measured import Measured, Row
from bench.quality.peers import best_peer
from bench.quality.results import Results, as_json, headline
from bench.quality.run import AUTO, FULL

NOTHING = Measured(
    evidence_recall=0.0,
    fully_covered=0.0,
    precision=0.0,
    context_tokens=0.0,
    over_budget=0.0,
    hit_at_5=0.0,
    mrr=0.0,
    sections_reached=0.0,
    duplication_ratio=0.0,
    seconds=0.0,
    missed=1.0,
)


def rows(system: str, *recalls: float, over: float = 0.0) -> list[Row]:
    return [
        Row(
            system,
            512,
            number,
            replace(NOTHING, evidence_recall=recall, missed=1.0 - recall, over_budget=over),
        )
        for number, recall in enumerate(recalls)
    ]


def results(*groups: list[Row]) -> Results:
    return Results.of("tiny", 2, {"order": "relevance"}, [row for one in groups for row in one])


def test_ours_is_compared_with_the_line_that_misses_least() -> None:
    found = results(
        rows(FULL, 1.0, 0.5),
        rows("rrf k=2", 0.0, 0.5),
        rows("dbsf", 0.5, 0.5),
        rows("whole parents", 1.0, 1.0),
    )

    ratio = headline([found], [512])

    assert found.best_same(512) == "dbsf"
    assert ratio is not None
    assert ratio.value == 0.5
    assert as_json(found)["miss_ratio"]["512"]["best_same"] == "dbsf"


def test_without_baselines_there_is_nothing_to_compare_with() -> None:
    found = results(rows(FULL, 1.0, 0.5))

    assert headline([found], [512]) is None
    assert "miss_ratio" not in as_json(found)


def test_contexts_over_their_budget_are_counted_whoever_made_them() -> None:
    found = results(rows(FULL, 0.5, 0.5), rows("dbsf", 0.5, 0.5, over=1.0))

    assert found.over_budget == 2
    assert as_json(found)["budgets"]["512"]["over_budget"] == 0
    assert as_json(found)["baselines"]["dbsf"]["budgets"]["512"]["over_budget"] == 2


def test_figures_of_one_fill_stand_on_top_as_those_of_two_do() -> None:
    both = as_json(results(rows(FULL, 1.0, 0.5), rows(AUTO, 0.5, 0.0)))
    auto = as_json(results(rows(AUTO, 0.5, 0.0)))

    assert both["budgets"]["512"]["evidence_recall"] == 0.75
    assert both["auto"]["budgets"]["512"]["evidence_recall"] == 0.25
    assert auto["budgets"] == auto["auto"]["budgets"] == both["auto"]["budgets"]
    assert both["set"] == "tiny"
    assert both["settings"] == {"order": "relevance"}


def test_a_weight_that_is_taken_away_changes_recall_by_pairs() -> None:
    found = results(rows(FULL, 1.0, 0.5), rows("without bm25", 0.75, 0.25))

    change = found.change("without bm25", 512)

    assert (change.value, change.low, change.high) == (-0.25, -0.25, -0.25)
    assert list(as_json(found)["ablations"]) == ["without bm25"]


def test_the_best_peer_is_the_best_at_each_budget() -> None:
    rows_of = {
        "a": {"budgets": {"512": {"evidence_recall": 0.2}, "1024": {"evidence_recall": 0.9}}},
        "b": {"budgets": {"512": {"evidence_recall": 0.4}, "1024": {"evidence_recall": 0.5}}},
    }
    report = {"set": "tiny", "systems": rows_of}

    assert [best_peer(report, budget) for budget in (512, 1024)] == [0.4, 0.9]
    assert as_json(results(rows(FULL, 1.0, 0.5)), report)["peers"] == report
    assert "peers" not in as_json(results(rows(FULL, 1.0, 0.5)))
