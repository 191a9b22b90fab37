"""
A comparison as JSON, as CSV, and as one HTML page that needs nothing beside it.
"""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Iterator

from evaluation.comparison import Compared, Comparison

COSTS = {
    "chunks": "chunks",
    "sections": "sections",
    "mean_tokens": "mean tokens of what is embedded",
    "duplication_ratio": "duplication ratio (distinct over all)",
    "vector_bytes": "bytes of vectors, float32",
    "index_bytes": "bytes of the index",
    "cut_seconds": "seconds of cutting",
    "search_milliseconds": "milliseconds of one exact search",
    "embedded": "newly embedded inputs",
}
MEANINGS = {
    "recall": "how much of the evidence the retrieved chunks hold",
    "precision": "how much of the retrieved chunks is evidence",
    "precision_omega": "precision of a perfect retrieval: what the cut allows at best",
    "iou": "evidence in the retrieved chunks over evidence and chunks together",
    "hit": "questions with evidence in any retrieved chunk",
    "mrr": "one over the rank of the first chunk with evidence",
    "evidence_recall": "how much of the evidence whole contexts of so many tokens hold, "
    "as the service makes them",
}
BARS, BAR, GAP, LETTER, VALUE = 450, 16, 8, 7.2, 60
"""Sizes in pixels: of the longest bar, a bar's height, the space between, a letter of a way's name,
the space for a value."""

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 78rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #ddd; text-align: right;
  vertical-align: top; }
td { white-space: nowrap; }
th { vertical-align: bottom; min-width: 4rem; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
.scroll { overflow-x: auto; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 34rem), 1fr));
  gap: 0 2rem; }
small { color: #555; line-height: 1.3; display: block; }
dt { font-weight: 600; } dd { margin: 0 0 .4rem 0; }
svg text { font: 12px system-ui, sans-serif; }
"""


def as_json(comparison: Comparison) -> str:
    """
    Return every figure and the differences from the first way.
    """
    rows = [
        {
            "name": way.name,
            "strategy": way.strategy,
            "settings": dict(way.settings),
            **{key: getattr(way, key) for key in COSTS},
            "measures": {
                measure: _figures(comparison, way, measure) for measure in comparison.measures
            },
        }
        for way in comparison.ways
    ]
    told = {
        "questions": comparison.questions,
        "confidence_of_differences": comparison.confidence,
        "ways": rows,
        "verdicts": comparison.verdicts(),
    }
    return json.dumps(told, indent=2) + "\n"


def as_csv(comparison: Comparison) -> str:
    """
    Return one line per way and measure, and one per way and cost.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("way", "strategy", "figure", "value", "low", "high"))
    for way in comparison.ways:
        for measure in comparison.measures:
            mean = way.mean(measure)
            writer.writerow((way.name, way.strategy, measure, mean.value, mean.low, mean.high))
        for key in COSTS:
            value = getattr(way, key)
            writer.writerow((way.name, way.strategy, key, "" if value is None else value, "", ""))
    return out.getvalue()


def as_html(comparison: Comparison, title: str) -> str:
    """
    Return the page.

    Args:
        comparison: What was measured.
        title: Of the page.
    """
    verdicts = "".join(f"<li>{html.escape(one)}</li>" for one in comparison.verdicts())
    charts = "".join(_chart(comparison, measure) for measure in comparison.measures)
    meanings = "".join(
        f"<dt>{html.escape(shown_name(one))}</dt><dd>{html.escape(_meaning(one))}</dd>"
        for one in comparison.measures
    )
    sure = f"{100 * comparison.confidence:.4g} %"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}'
        f'</title><meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>'
        f"<body><h1>{html.escape(title)}</h1><p>{comparison.questions} questions. Bars are means, "
        f"lines their 95 % intervals. Differences are from {html.escape(comparison.ways[0].name)}, "
        f"paired by question, with {sure} intervals.</p><h2>Which differences are real</h2>"
        f"<ul>{verdicts}</ul><h2>Figures</h2>{_table(comparison)}<h2>Costs</h2>"
        f'{_costs(comparison)}<h2>Pictures</h2><div class="charts">{charts}</div>'
        f"<h2>What the measures say</h2><p>In %.</p><dl>{meanings}</dl></body></html>\n"
    )


def _figures(comparison: Comparison, way: Compared, measure: str) -> dict[str, float]:
    mean = way.mean(measure)
    figures = {"mean": mean.value, "low": mean.low, "high": mean.high}
    if way is not comparison.ways[0]:
        change = comparison.change(way, measure)
        figures |= {"change": change.value, "change_low": change.low, "change_high": change.high}
    return figures


def _table(comparison: Comparison) -> str:
    names = ("way", *map(shown_name, comparison.measures))
    head = "".join(f"<th>{html.escape(one)}</th>" for one in names)
    rows = "".join(
        f"<tr><td>{html.escape(way.name)}</td>"
        + "".join(f"<td>{cell}</td>" for cell in _cells(comparison, way))
        + "</tr>"
        for way in comparison.ways
    )
    return f'<div class="scroll"><table><tr>{head}</tr>{rows}</table></div>'


def _cells(comparison: Comparison, way: Compared) -> Iterator[str]:
    for measure in comparison.measures:
        cell = f"{100 * way.mean(measure).value:.1f}"
        if way is not comparison.ways[0]:
            change = comparison.change(way, measure)
            mark = "b" if change.excludes(0.0) else "span"
            low, high = 100 * change.low, 100 * change.high
            cell += (
                f"<small><{mark}>{100 * change.value:+.1f}</{mark}><br>"
                f"{low:+.1f} to {high:+.1f}</small>"
            )
        yield cell


def _costs(comparison: Comparison) -> str:
    head = "".join(f"<th>{html.escape(one)}</th>" for one in ("way", *COSTS.values()))
    rows = "".join(
        f"<tr><td>{html.escape(way.name)}</td>"
        + "".join(f"<td>{shown(getattr(way, key))}</td>" for key in COSTS)
        + "</tr>"
        for way in comparison.ways
    )
    return f'<div class="scroll"><table><tr>{head}</tr>{rows}</table></div>'


def shown(value: float | None) -> str:
    """
    Return a cost as people read it.
    """
    if value is None:
        return "not made"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3g}"


def shown_name(measure: str) -> str:
    """
    Return a measure's name as people read it.
    """
    return measure.replace("_", " ")


def _meaning(measure: str) -> str:
    return MEANINGS.get(measure.partition("@")[0], "")


def _chart(comparison: Comparison, measure: str) -> str:
    """
    Return a bar per way with its interval.
    """
    means = [way.mean(measure) for way in comparison.ways]
    top = max((one.high for one in means), default=1.0) or 1.0
    left = round(LETTER * max(len(way.name) for way in comparison.ways)) + GAP
    scale = BARS / top
    width, height = left + BARS + VALUE, len(means) * (BAR + GAP) + GAP
    name = html.escape(shown_name(measure))
    opening = (
        f'<svg width="{width}" height="{height}" role="img" aria-label="{name} by way to cut">'
    )
    parts = [f'<div><h3>{name}</h3><div class="scroll">{opening}']
    for number, (way, mean) in enumerate(zip(comparison.ways, means, strict=True)):
        y = GAP + number * (BAR + GAP)
        middle = y + BAR / 2
        low, high = left + mean.low * scale, left + mean.high * scale
        color = "#b3123c" if number == 0 else "#2171b5"
        parts.append(
            f'<text x="{left - GAP}" y="{middle + 4}" text-anchor="end">{html.escape(way.name)}'
            f'</text><rect x="{left}" y="{y}" width="{mean.value * scale:.1f}" height="{BAR}" '
            f'fill="{color}" opacity=".8"/><line x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" '
            f'y2="{middle}" stroke="#1a1a1a" stroke-width="2"/><text x="{high + 6:.1f}" '
            f'y="{middle + 4}">{100 * mean.value:.1f}</text>'
        )
    return "".join(parts) + "</svg></div></div>"
