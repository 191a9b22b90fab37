"""
Elements whose end tags may be left out end where the HTML standard ends them.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.formats.converted import NotConverted
from indexer.formats.html import html_to_markdown
from indexer.formats.html_tree import MOST_DEPTH, HtmlTree

AROUND = {
    "p": ("<div>", "</div>"),
    "li": ("<ul>", "</ul>"),
    "dt": ("<dl>", "</dl>"),
    "dd": ("<dl>", "</dl>"),
    "tr": ("<table>", "</table>"),
    "td": ("<table><tr>", "</table>"),
    "th": ("<table><tr>", "</table>"),
    "thead": ("<table>", "</table>"),
    "tbody": ("<table>", "</table>"),
    "tfoot": ("<table>", "</table>"),
    "caption": ("<table>", "</table>"),
    "option": ("<select>", "</select>"),
    "optgroup": ("<select>", "</select>"),
    "rb": ("<ruby>", "</ruby>"),
    "rt": ("<ruby>", "</ruby>"),
    "rp": ("<ruby>", "</ruby>"),
    "rtc": ("<ruby>", "</ruby>"),
}
INSIDE = {"tr": "<td>", "thead": "<tr><td>", "tbody": "<tr><td>", "tfoot": "<tr><td>"}
INSIDE |= {"optgroup": "<option>"}
FAMILIES = [
    *(("p",), ("li",), ("dt", "dd"), ("tr",), ("td", "th"), ("option",), ("optgroup",)),
    *(("rb", "rt", "rp"), ("rb", "rtc"), ("caption", "thead", "tbody", "tfoot")),
]
siblings = st.sampled_from(FAMILIES).flatmap(
    lambda family: st.lists(
        st.tuples(st.sampled_from(family), st.booleans(), st.booleans()), min_size=2, max_size=8
    )
)
"""Tags that stand beside each other; whether each is hidden, and closed."""


@given(siblings, st.sampled_from(["", "<b>", "<span>x "]))
def test_what_is_hidden_is_gone_and_all_that_stands_beside_it_stays(
    some: list[tuple[str, bool, bool]], inside: str
) -> None:
    words = [f"word{number}end" for number in range(len(some))]
    opening, closing = AROUND[some[0][0]]
    parts = [
        f"<{tag}{' hidden' * hidden}>{INSIDE.get(tag, '')}{inside}{word}{f'</{tag}>' * closed}"
        for (tag, hidden, closed), word in zip(some, words, strict=True)
    ]

    found = html_to_markdown(f"<p>before{opening}{''.join(parts)}{closing}<p>after")

    hidden_ones = sum(hidden for _, hidden, _ in some)
    assert [one for one in words if one in found.text] == [
        word for (_, hidden, _), word in zip(some, words, strict=True) if not hidden
    ]
    assert found.text.startswith("before")
    assert found.text.endswith("after\n")
    assert found.left_out == (
        (f"has {hidden_ones} hidden elements, which are left out",) if hidden_ones else ()
    )


lists: st.SearchStrategy[list[Any]] = st.recursive(
    st.just([]),
    lambda inner: st.lists(st.tuples(st.booleans(), st.booleans(), inner), max_size=4),
    max_leaves=12,
)
"""Items: whether each is hidden, and closed, and the list inside of it."""


@given(lists)
def test_nested_lists_keep_their_items_and_lose_what_is_hidden(items: list[Any]) -> None:
    numbers = count()
    seen: list[str] = []

    def written(some: list[Any], hidden_around: bool) -> str:
        parts: list[str] = []
        for hidden, closed, inner in some:
            word = f"word{next(numbers)}end"
            if not (hidden or hidden_around):
                seen.append(word)
            nested = written(inner, hidden or hidden_around)
            parts.append(f"<li{' hidden' * hidden}>{word}{nested}{'</li>' * closed}")
        return f"<ul>{''.join(parts)}</ul>" if parts else ""

    text = html_to_markdown(f"{written(items, hidden_around=False)}<p>after").text

    assert text.replace("-", " ").split() == [*seen, "after"]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<ol><li>five<li>six</ol>", "1. five\n2. six\n"),
        ("<ul><li>a<ul><li>b<li>c</ul><li>d</ul>", "- a\n  - b\n  - c\n- d\n"),
        ("<ul><li>a<div><li>b</ul>", "- a\n- b\n"),
        ("<div><p hidden>x<ul><li>a</ul></div>", "- a\n"),
        ("<p hidden>x<h2>A</h2>", "## A\n"),
        ("<p hidden>x<button><p>y</button>z<p>a", "a\n"),
        ("<dl><dt>a<dd>b<dt hidden>c<dd hidden>d</dl>e", "a\n:   b\n\ne\n"),
        ("<table><colgroup hidden><col><tr><td>a</table>", "| a |\n| --- |\n"),
        ("<table><caption hidden>x<col><tr><td>a</table>", "| a |\n| --- |\n"),
        ("<table><tr><td>a<td hidden><div><ul><li>x<td>b</table>", "| a | b |\n| --- | --- |\n"),
        ("<table><tr><td>a<table><tr><td>b</table><td>c</table>", "| a b | c |\n| --- | --- |\n"),
        ("<i><table><tr><td><b>a<td>b</i></b></table>", "*| **a** | b |\n| --- | --- |*\n"),
        ("<div hidden><table><tr><td></div>x</table></div>a", "a\n"),
        ("<p>a<ul hidden><li>x</p>y</ul><p>b", "a\n\nb\n"),
        ("<html><body><p>a</body></html>\n<p>b", "a\n\nb\n"),
        ("<p>a<br/>b</br><p hidden/>c<li/>", "a  \nb\n\nc\n"),
    ],
)
def test_elements_end_where_a_browser_ends_them(html: str, text: str) -> None:
    assert html_to_markdown(html).text == text


@pytest.mark.parametrize("html", ["<table><tr>" + "<td>x" * 20_000, "<ul>" + "<li>x" * 20_000])
def test_thousands_of_elements_that_are_never_closed_stand_side_by_side(html: str) -> None:
    assert html_to_markdown(html).text.count("x") == 20_000


def test_a_page_that_is_nested_too_deep_is_refused_while_it_is_read() -> None:
    HtmlTree("<div>" * MOST_DEPTH)
    with pytest.raises(NotConverted, match="nested too deep"):
        html_to_markdown("<div>" * (MOST_DEPTH + 1) + "x")
