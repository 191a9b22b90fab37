"""
Charts of PowerPoint as tables.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from indexer.formats.converted import table

C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
Series = tuple[str, dict[int, str], dict[int, str]]
"""Name, labels and values by place."""


def chart_to_table(chart: Any) -> str:
    """
    Return the title of a chart and its stored values, a column per series where all have the same
    labels, else a row per point; "" for one without values.
    """
    series: list[Series] = []
    for one in [values.getparent() for values in chart.iter(f"{C}val", f"{C}yVal")]:
        labels = _points(one.find(f"{C}cat")) or _points(one.find(f"{C}xVal"))
        values = _points(one.find(f"{C}val")) or _points(one.find(f"{C}yVal"))
        name = " ".join(_points(one.find(f"{C}tx")).values()) or f"Series {len(series) + 1}"
        series += [(name, labels, values)] if values else []
    if not series:
        return ""
    title = chart.find(f"{C}chart/{C}title")
    texts = [] if title is None else [part.text or "" for part in title.iter(f"{A}t")]
    head = f"{' '.join(''.join(texts).split())}\n\n".lstrip()
    rows = _columns(series) if all(a[1] == b[1] for a, b in pairwise(series)) else _rows(series)
    return head + table(rows).rstrip("\n")


def _columns(series: list[Series]) -> list[list[str]]:
    labels = series[0][1]
    places = sorted(set(labels).union(*(values for _, _, values in series)))
    return [
        ["", *(name for name, _, _ in series)],
        *(
            [labels.get(at, str(at + 1)), *(values.get(at, "") for _, _, values in series)]
            for at in places
        ),
    ]


def _rows(series: list[Series]) -> list[list[str]]:
    return [
        [name, labels.get(at, str(at + 1)), values[at]]
        for name, labels, values in series
        for at in sorted(values)
    ]


def _points(of: Any) -> dict[int, str]:
    """
    Return stored texts or numbers by place; of labels in levels, the outer ones stand first.
    """
    if of is None:
        return {}
    levels = [_level(one) for one in of.iter(f"{C}lvl")] or [_level(of)]
    found = levels[0]
    for outer in levels[1:]:
        around = ""
        for at in sorted(found):
            around = outer.get(at, around)
            found[at] = f"{around} {found[at]}".strip()
    return found


def _level(of: Any) -> dict[int, str]:
    points = {int(one.get("idx", 0)): one.findtext(f"{C}v") or "" for one in of.iter(f"{C}pt")}
    alone = of.findtext(f"{C}v")
    return {0: alone} if alone else points
