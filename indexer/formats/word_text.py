"""
A Word file as its reader sees it, with what the converter would lose as plain text.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from indexer.formats.converted import zipped
from indexer.formats.equations import M, equation
from indexer.formats.hidden_text import STYLES, W, hiding_styles, remove_hidden

READ = re.compile(r"word/(?:document|footnotes|endnotes)\d*\.xml")
AROUND_PAGES = re.compile(r"word/(?:header|footer)\d*\.xml")
CHARTS = re.compile(r"word/charts/chart(?:Ex)?\d*\.xml")
COMMENTS = "word/comments.xml"
OPENED = tuple(f"{W}{name}" for name in ("fldSimple", "dir", "bdo", "ruby", "rubyBase"))
"""Elements that stand around runs, and that the converter leaves out with them."""

NOT_SHOWN = (f"{W}rt", f"{W}rubyPr")
MATH = (f"{M}oMath", f"{M}oMathPara")
MARKS = re.compile(rb"vanish|hidden|fldSimple|oMath|:dir\b|:bdo\b|:ruby\b")


def word_text(content: bytes) -> tuple[bytes, Counter[str]]:
    """
    Return a Word file without what it hides, its fields and equations as plain text, and how many
    things were or will be left out, by kind; the file itself where it has none of these.

    Raises:
        NotConverted: It is no zip archive, or protected.
        xml.etree.ElementTree.ParseError: A part is damaged.
    """
    with zipped(content) as archive:
        parts = {name: archive.read(name) for name in sorted(set(archive.namelist()))}
    counts = _unread(parts)
    hiding = hiding_styles(parts.get(STYLES, b""))
    changed = [name for name in parts if READ.fullmatch(name)]
    changed = [name for name in changed if hiding or MARKS.search(parts[name])]
    if not changed:
        return content, counts
    for name in changed:
        root = _parsed(parts[name])
        for around in list(root.iter()):
            if any(child.tag in OPENED or child.tag in MATH for child in around):
                around[:] = list(_opened(around))
        counts.update(remove_hidden(root, hiding))
        parts[name] = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, part in parts.items():
            made.writestr(name, part)
    return out.getvalue(), counts


def _parsed(part: bytes) -> ET.Element:
    return ET.fromstring(part)  # noqa: S314 - expat bounds how far entities grow


def _unread(parts: dict[str, bytes]) -> Counter[str]:
    """
    Return how many comments, charts, and page headers and footers of words, there are.
    """
    around = [_parsed(part) for name, part in parts.items() if AROUND_PAGES.fullmatch(name)]
    comments = _parsed(parts[COMMENTS]).iter(f"{W}comment") if COMMENTS in parts else ()
    return Counter(
        {
            "comments": sum(bool(_text(one)) for one in comments),
            "charts": sum(bool(CHARTS.fullmatch(name)) for name in parts),
            "page headers and footers": sum(any(map(str.isalpha, _text(one))) for one in around),
        }
    )


def _text(of: ET.Element) -> str:
    return "".join(one.text or "" for one in of.iter(f"{W}t"))


def _opened(around: ET.Element) -> Iterator[ET.Element]:
    for child in around:
        if child.tag in OPENED:
            yield from _opened(child)
        elif child.tag in MATH:
            run = ET.Element(f"{W}r")
            ET.SubElement(run, f"{W}t").text = equation(child)
            yield run
        elif child.tag not in NOT_SHOWN:
            yield child
