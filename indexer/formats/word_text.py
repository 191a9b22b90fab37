"""
A Word file as its reader sees it, with what the converter would lose as plain text.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from xml.etree import ElementTree as ET

from indexer.formats.converted import zipped
from indexer.formats.equations import AS_LETTERS, SUB, SUPER, M, equation, marked
from indexer.formats.hidden_text import STYLES, W, hiding_styles, remove_hidden

READ = re.compile(r"word/(?:document|footnotes|endnotes)\d*\.xml")
AROUND_PAGES = re.compile(r"word/(?:header|footer)\d*\.xml")
CHARTS = re.compile(r"word/charts/chart(?:Ex)?\d*\.xml")
COMMENTS = "word/comments.xml"
OPENED = tuple(f"{W}{name}" for name in ("fldSimple", "dir", "bdo", "ruby", "rubyBase"))
"""Elements that stand around runs, and that the converter leaves out with them."""

NOT_SHOWN = (f"{W}rt", f"{W}rubyPr")
MATH = (f"{M}oMath", f"{M}oMathPara")
MARKS = re.compile(rb"vanish|hidden|fldSimple|oMath|vertAlign|:dir\b|:bdo\b|:ruby\b")
SIGNS = {f"{W}tab": " ", f"{W}br": " ", f"{W}cr": " ", f"{W}noBreakHyphen": "-", f"{W}sym": "x"}
RAISED = {"superscript": SUPER, "subscript": SUB}


def word_text(content: bytes) -> tuple[bytes, Counter[str]]:
    """
    Return a Word file without what it hides, its fields, equations, raised and lowered text as
    plain text, and how many things were or will be left out, by kind; the file itself where it has
    none of these.

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
        for paragraph in root.iter(f"{W}p"):
            _mark(list(paragraph.iter(f"{W}r")))
            for looks in paragraph.iter(f"{W}rPr"):
                looks[:] = [one for one in looks if one.tag != f"{W}vertAlign"]
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


def _mark(runs: list[ET.Element]) -> None:
    """
    Mark raised and lowered text that stands directly after a letter, a digit or a parenthesis.
    """
    before = ""
    for mark, group in groupby(runs, _raised):
        same = list(group)
        texts = [one for run in same for one in run.iter(f"{W}t") if one.text]
        text = "".join(one.text or "" for one in texts).strip()
        is_value = any(map(str.isalnum, text)) and text.lower() not in AS_LETTERS
        if mark and is_value and (before.isalnum() or before == ")"):
            for one in texts:
                one.text = ""
            texts[0].text = marked(text, mark)
        before = "".join(map(_shown, same))[-1:] or before


def _raised(run: ET.Element) -> str:
    """
    Return the mark of a run with raised or lowered text; "" for others.
    """
    looks = run.find(f"{W}rPr/{W}vertAlign")
    return "" if looks is None or not _text(run) else RAISED.get(looks.get(f"{W}val", ""), "")


def _shown(run: ET.Element) -> str:
    return "".join(one.text or "" if one.tag == f"{W}t" else SIGNS.get(one.tag, "") for one in run)
