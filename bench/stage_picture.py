"""
Where the time of a request goes: the floor, and the service's stages above each other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

BESIDE = "embed"
"""The stage that runs inside another one, the search."""


def draw_stages(figures: dict[str, Any], path: Path) -> None:
    """
    Write the picture.

    Args:
        figures: As `bench.latency` writes them.
        path: Where it goes, .png.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - optional
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional

    figure = Figure(figsize=(9.0, 2.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    stages = dict(figures["stages"])
    stages["search"] = stages.get("search", 0.0) - stages.get(BESIDE, 0.0)
    stages["gRPC, conversion, waiting"] = figures["p50_ms"] - sum(stages.values())
    floor = {"embed": figures["floor_embed_ms"], "search": figures["floor_engine_ms"]}
    palette = dict(zip(stages, _colors(len(stages)), strict=True))
    for row, parts in enumerate((floor, stages)):
        left = 0.0
        for name, value in parts.items():
            axes.barh(row, value, left=left, color=palette[name], edgecolor="white")
            left += value
    for name, color in palette.items():
        axes.barh(0, 0, color=color, label=f"{name} {stages[name]:.1f}")
    axes.set_yticks((0, 1), ("floor", "service"))
    axes.set_xlabel("ms, medians")
    axes.set_title(f"{figures['chunks']:,} chunks, {figures['budget']:,} tokens")
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def _colors(count: int) -> list[str]:
    known = (
        *("#08306b", "#2171b5", "#6baed6", "#41ab5d", "#c9a227", "#e07a2c"),
        *("#b3123c", "#8c6bb1", "#555555", "#999999", "#cccccc"),
    )
    return [known[number % len(known)] for number in range(count)]
