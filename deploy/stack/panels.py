"""
The dashboard's panels, asked of a real Prometheus: which are empty, and how they look.
"""

from __future__ import annotations

import json
import math
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from processes import HERE

DASHBOARD = HERE.parent / "components" / "monitoring" / "dashboard.json"
INTERVAL = "5s"
SPAN_SECONDS = 90
COLUMNS = 3


DEPENDENCY = "context_assembler_dependency_"
"""How metrics begin that are there with a Qdrant server only."""


def empty_panels(port: int, picture: Path | None, *, has_qdrant: bool) -> list[str]:
    """
    Return the titles of the panels of which a query has no number, and draw all where asked.
    """
    shown = json.loads(DASHBOARD.read_text())["panels"]
    panels = [
        one
        for one in shown
        if one["type"] != "row" and (has_qdrant or DEPENDENCY not in one["targets"][0]["expr"])
    ]
    empty, drawn = [], []
    for panel in panels:
        lines: dict[str, list[tuple[float, float]]] = {}
        is_empty = False
        for target in panel["targets"]:
            found = _range(port, target["expr"].replace("$__rate_interval", INTERVAL))
            is_empty = is_empty or not any(found.values())
            legend = target["legendFormat"]
            lines.update({_name(legend, labels): points for labels, points in found.items()})
        if is_empty:
            empty.append(panel["title"])
        drawn.append((panel["title"], lines))
    if picture is not None:
        _draw(drawn, picture)
    return empty


def _range(port: int, query: str) -> dict[str, list[tuple[float, float]]]:
    """
    Return the numbers of a query over the last seconds, by the series' labels as JSON.
    """
    now = time.time()
    asked = {"query": query, "start": now - SPAN_SECONDS, "end": now, "step": 1}
    address = f"http://127.0.0.1:{port}/api/v1/query_range?{urllib.parse.urlencode(asked)}"
    with urllib.request.urlopen(address) as reply:
        series = json.load(reply)["data"]["result"]
    return {
        json.dumps(one["metric"], sort_keys=True): [
            (at - now, float(value)) for at, value in one["values"] if math.isfinite(float(value))
        ]
        for one in series
    }


def _name(legend: str, labels: str) -> str:
    for name, value in json.loads(labels).items():
        legend = legend.replace("{{" + name + "}}", value)
    return legend


def _draw(panels: list[tuple[str, dict[str, Any]]], path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - optional
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional

    rows = math.ceil(len(panels) / COLUMNS)
    figure = Figure(figsize=(15.0, 2.6 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, COLUMNS).flatten()
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    for axis, (title, lines) in zip(axes, panels, strict=False):
        for name, points in sorted(lines.items()):
            axis.plot([at for at, _ in points], [value for _, value in points], label=name)
        axis.set_title(title, fontsize=9)
        axis.tick_params(labelsize=7)
        axis.set_ylim(bottom=0)
        axis.legend(fontsize=5, ncols=2, loc="upper left", frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
