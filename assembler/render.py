"""
Passages to prompt text: markers, headings, gaps; every slice's place is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from assembler.model import Section
from assembler.passage import Passage
from assembler.report import PlacedSpan
from assembler.request import Format, Headings, Layout
from assembler.span import Span
from assembler.style import Style, choose_style

MOST_HEADING_CHARS = 120
"""Of a printed heading path; the citation has all of it."""


@dataclass(frozen=True, slots=True)
class Block:
    """
    A passage rendered.

    Attributes:
        place: Its range in the context, marker and heading included.
        body: The range of its source text in the context, gap marks included.
        spans: Source ranges of the passage's own version and where they stand.
    """

    passage: Passage
    marker: str
    heading: str
    place: Span
    body: Span
    spans: tuple[PlacedSpan, ...]


@dataclass(frozen=True, slots=True)
class Rendered:
    """
    The whole context with its blocks in order.
    """

    text: str
    blocks: tuple[Block, ...]


def render(passages: Sequence[Passage], layout: Layout) -> Rendered:
    """
    Return the passages as one text, numbered in the given order.
    """
    style = choose_style([_sources(passage) for passage in passages], layout.format)
    headings = _headings(passages, layout)
    text: list[str] = []
    blocks: list[Block] = []
    position = 0
    for number, (passage, heading) in enumerate(zip(passages, headings, strict=True), start=1):
        if number > 1:
            separator = "\n" if layout.format is Format.XML else "\n\n"
            text.append(separator)
            position += len(separator)
        marker = style.marker(number, layout.format)
        opening, closing = _frame(marker, heading, layout, style)
        start = position
        position += len(opening)
        body_start = position
        parts, placed = _body(passage, style, position)
        position += sum(len(part) for part in parts)
        blocks.append(
            Block(
                passage=passage,
                marker=marker,
                heading=heading,
                place=Span(start, position + len(closing)),
                body=Span(body_start, position),
                spans=placed,
            )
        )
        position += len(closing)
        text += [opening, *parts, closing]
    return Rendered("".join(text), tuple(blocks))


def frame_of(heading: str, layout: Layout) -> tuple[str, str]:
    """
    Return what stands before and after a block under a heading, separator included, for estimates.
    """
    style = Style()
    opening, closing = _frame(style.marker(10, layout.format), _line(heading), layout, style)
    return opening, closing + ("\n" if layout.format is Format.XML else "\n\n")


def printed_heading(section: Section, text: str, layout: Layout) -> str:
    """
    Return what is most likely printed above a text of the section: its last heading, or nothing
    where the text begins with it.
    """
    heading = section.heading_path[-1] if section.heading_path else ""
    is_none = layout.headings is Headings.NONE or _begins_with(text, heading)
    return "" if is_none else heading


def _sources(passage: Passage) -> list[str]:
    headings = [" ".join(parent.section.heading_path) for parent in passage.parents]
    return [*headings, *(passage.slice(span) for span in passage.spans)]


def _frame(marker: str, heading: str, layout: Layout, style: Style) -> tuple[str, str]:
    if layout.format is Format.XML:
        title = f' heading="{escape(heading, quote=True)}"' if heading else ""
        return f"<{style.tag} {marker}{title}>\n", f"\n</{style.tag}>"
    if layout.format is Format.MARKDOWN:
        return f"{marker} {heading}\n" if heading else f"{marker}\n", ""
    return f"{marker} ({heading}) " if heading else f"{marker} ", ""


def _body(
    passage: Passage, style: Style, position: int
) -> tuple[list[str], tuple[PlacedSpan, ...]]:
    parts: list[str] = []
    placed: list[PlacedSpan] = []
    last: Span | None = None
    for span in passage.spans:
        if last is not None:
            mark = _gap(passage, Span(last.end, span.start), style)
            parts.append(mark)
            position += len(mark)
        piece = passage.slice(span)
        placed.append(PlacedSpan(span, Span(position, position + len(piece))))
        parts.append(piece)
        position += len(piece)
        last = span
    return parts, tuple(placed)


def _gap(passage: Passage, between: Span, style: Style) -> str:
    """
    Return what stands between two spans: the text itself where it is only white space, else a mark.

    White space between touching spans was trimmed off; text that is not known counts as a gap.
    """
    hidden = passage.slice(between)
    return style.gap_between_lines if "\n" in hidden else style.gap_in_line


def _headings(passages: Sequence[Passage], layout: Layout) -> list[str]:
    if layout.headings is Headings.NONE:
        return ["" for _ in passages]
    paths = [_path(passage) for passage in passages]
    known = {path for path in paths if path}
    printed: set[tuple[object, tuple[str, ...]]] = set()
    lines: list[str] = []
    for passage, path in zip(passages, paths, strict=True):
        own = (passage.version, path)
        if not path or own in printed:
            lines.append("")
            continue
        printed.add(own)
        shown = _shortest(path, known)
        lines.append("" if _says_it(passage, shown) else _line(" > ".join(shown)))
    return lines


def _path(passage: Passage) -> tuple[str, ...]:
    first = passage.spans[0]
    parent = next(one for one in passage.parents if one.section.span.overlaps(first))
    return parent.section.heading_path


def _shortest(path: tuple[str, ...], known: set[tuple[str, ...]]) -> tuple[str, ...]:
    """
    Return the shortest tail of a path that no other path of the context ends in.
    """
    for length in range(1, len(path)):
        tail = path[-length:]
        if all(other == path or other[-length:] != tail for other in known):
            return tail
    return path


def _says_it(passage: Passage, shown: tuple[str, ...]) -> bool:
    """
    Return whether the passage's first line is the one heading that would be printed above it.
    """
    return len(shown) == 1 and _begins_with(passage.slice(passage.spans[0]), shown[0])


def _begins_with(text: str, heading: str) -> bool:
    first_line = text.split("\n", 1)[0]
    return first_line.strip("#= \t") == heading.strip()


def _line(heading: str) -> str:
    """
    Return a heading on one line, cut at a word where it is long: it is a label, not source text.
    """
    line = " ".join(heading.split())
    if len(line) <= MOST_HEADING_CHARS:
        return line
    return line[:MOST_HEADING_CHARS].rsplit(" ", 1)[0] + "…"
