"""
Evidence recall against the budget: a panel per set, a line per system.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.quality import baselines
from bench.quality.peers import best_peer
from bench.quality.results import Results
from bench.quality.run import AUTO, FULL

COLUMNS = 3
INCHES = (5.2, 4.2)
LEGEND_INCHES = 1.0
OURS = {FULL: ("#b3123c", "-", "o"), AUTO: ("#e07a2c", "--", "s")}
PEER = "#111111"
LOOKS = {
    name: (color, dash)
    for names, dash, colors in (
        (
            baselines.SAME[: len(baselines.FUSIONS)],
            ":",
            ("#08306b", "#2171b5", "#6baed6", "#41ab5d"),
        ),
        (baselines.NAMES[len(baselines.SAME) :], "-", ("#555555", "#999999", "#8c6bb1", "#c9a227")),
    )
    for name, color in zip(names, colors, strict=True)
}
"""The whole baselines, and the same-ingredient lines of one length of lists."""


class PictureImpossible(Exception):
    """
    What draws pictures is not installed.
    """


def check_drawing(package: str = "matplotlib") -> None:
    """
    Check, before anything is measured, that a picture can be drawn.

    Raises:
        PictureImpossible: It cannot; says what to do.
    """
    if importlib.util.find_spec(package) is None:
        raise PictureImpossible(
            f"a picture needs {package}; run `pip install --group bench`, or leave --picture out"
        )


def draw(sets: Sequence[Results], path: Path, peers: Mapping[str, Any]) -> None:
    """
    Write the picture of all sets.

    Args:
        sets: What was measured.
        path: Where the picture goes, .png.
        peers: Reports of `bench.peers` by the set's name; empty where none ran.

    Raises:
        PictureImpossible: Matplotlib is not installed.
    """
    check_drawing()
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - optional
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional
    from matplotlib.lines import Line2D  # noqa: PLC0415 - optional

    columns = min(COLUMNS, len(sets))
    rows = math.ceil(len(sets) / columns)
    height = rows * INCHES[1] + LEGEND_INCHES
    figure = Figure(figsize=(columns * INCHES[0], height), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(rows, columns, squeeze=False).flatten()
    for panel in panels[len(sets) :]:
        panel.set_axis_off()
    lines: dict[str, Line2D] = {}
    for results, panel in zip(sets, panels, strict=False):
        budgets = sorted(results.budgets)
        for system in (one for one in results.systems if one in {**OURS, **LOOKS}):
            means = [results.mean(system, one, "evidence_recall") for one in budgets]
            values = [100 * one.value for one in means]
            if system in OURS:
                color, dash, dot = OURS[system]
                (line,) = panel.plot(budgets, values, dash, color=color, marker=dot, zorder=3)
                lows, highs = [100 * one.low for one in means], [100 * one.high for one in means]
                panel.fill_between(budgets, lows, highs, color=color, alpha=0.12, linewidth=0)
            else:
                color, dash = LOOKS[system]
                (line,) = panel.plot(budgets, values, dash, color=color, linewidth=1.2)
            lines.setdefault(system, line)
        if results.name in peers:
            best = [100 * best_peer(peers[results.name], one) for one in budgets]
            (line,) = panel.plot(budgets, best, "-.", color=PEER, marker="x", linewidth=1.2)
            lines.setdefault("best peer at each budget", line)
        panel.set_xscale("log", base=2)
        panel.set_xticks(budgets, [str(one) for one in budgets])
        panel.set_ylim(0, 100)
        panel.grid(alpha=0.25)
        panel.set_title(f"{results.name} ({results.questions} questions)")
        panel.set_xlabel("budget, o200k_base tokens of the whole context")
        panel.set_ylabel("evidence recall, %")
    figure.legend(
        list(lines.values()),
        list(lines),
        loc="outside lower center",
        ncols=2 * columns,
        frameon=False,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
