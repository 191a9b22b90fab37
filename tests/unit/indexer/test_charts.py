"""
Charts of PowerPoint become tables, and what becomes none is told.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable
from typing import Any

import pytest

from indexer.formats.converted import Converted
from indexer.formats.office import pptx_to_markdown

pytest.importorskip("pptx")

KINDS = importlib.import_module("pptx.enum.chart").XL_CHART_TYPE
DATA = importlib.import_module("pptx.chart.data")
CHART_PART = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/chart"
NEWER = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"


def converted(draw: Callable[[Any], None]) -> Converted:
    """
    Return the conversion of one slide that is drawn on.
    """
    made = importlib.import_module("pptx").Presentation()
    draw(made.slides.add_slide(made.slide_layouts[6]))
    out = io.BytesIO()
    made.save(out)
    return pptx_to_markdown(out.getvalue())


def add(slide: Any, kind: Any, data: Any) -> Any:
    return slide.shapes.add_chart(kind, 0, 0, 99, 99, data)


def sales(**series: tuple[float | None, ...]) -> Any:
    data = DATA.CategoryChartData()
    data.categories = ["Oslo", "Bergen"]
    for name, values in series.items():
        data.add_series(name, values)
    return data


def test_a_chart_is_a_table_with_a_column_per_series() -> None:
    def draw(slide: Any) -> None:
        chart = add(slide, KINDS.COLUMN_CLUSTERED, sales(A=(1, None), B=(2.5, 3))).chart
        chart.has_title = True
        chart.chart_title.text_frame.text = "Sales 2024"

    found = converted(draw)

    assert found.text == (
        "## Slide 1\n\nSales 2024\n\n|  | A | B |\n| --- | --- | --- |\n"
        "| Oslo | 1 | 2.5 |\n| Bergen |  | 3 |\n"
    )
    assert found.left_out == ()


def test_labels_in_levels_name_the_outer_one_first() -> None:
    def draw(slide: Any) -> None:
        data = DATA.CategoryChartData()
        for outer, inner in (("EU", ("DE", "FR")), ("US", ("NY",))):
            category = data.add_category(outer)
            for one in inner:
                category.add_sub_category(one)
        data.add_series("A", (1, 2, 3))
        add(slide, KINDS.BAR_CLUSTERED, data)

    assert converted(draw).text.endswith("| EU DE | 1 |\n| EU FR | 2 |\n| US NY | 3 |\n")


def test_series_with_labels_of_their_own_have_a_row_per_point() -> None:
    def draw(slide: Any) -> None:
        data = DATA.XyChartData()
        for name, points in (("a", ((1, 2), (2, 4))), ("b", ((5, 6),))):
            series = data.add_series(name)
            for x, y in points:
                series.add_data_point(x, y)
        add(slide, KINDS.XY_SCATTER, data)

    assert converted(draw).text == (
        "## Slide 1\n\n| a | 1 | 2 |\n| --- | --- | --- |\n| a | 2 | 4 |\n| b | 5 | 6 |\n"
    )


def test_series_without_names_and_labels_are_numbered() -> None:
    def draw(slide: Any) -> None:
        chart = add(slide, KINDS.PIE, sales(A=(1, 2))).chart
        for series in chart.element.xpath("//c:val/.."):
            series.remove(series.xpath("c:tx")[0])
            series.remove(series.xpath("c:cat")[0])

    assert converted(draw).text.endswith("|  | Series 1 |\n| --- | --- |\n| 1 | 1 |\n| 2 | 2 |\n")


def test_what_becomes_no_table_is_counted() -> None:
    def draw(slide: Any) -> None:
        add(slide, KINDS.PIE, sales(A=(None,)))
        lost = add(slide, KINDS.PIE, sales(A=(1,)))
        lost.element.xpath(".//c:chart")[0].set(f"{{{CHART_PART.rpartition('/')[0]}}}id", "rId99")
        for uri in ("http://schemas.openxmlformats.org/drawingml/2006/diagram", "urn:ole"):
            frame = add(slide, KINDS.PIE, sales(A=(1,)))
            frame.element.xpath(".//a:graphicData")[0].set("uri", uri)
        slide.shapes.element.append(slide.shapes.element.makeelement(NEWER))
        slide.element.append(slide.element.makeelement(NEWER))  # of a transition

    found = converted(draw)

    assert found.text == "## Slide 1\n"
    (told,) = found.left_out
    assert told == (
        "has 2 charts without values, 1 diagrams, 1 embedded objects, "
        "1 objects of newer programs left out"
    )
