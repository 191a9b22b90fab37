"""
What a Word file hides.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
STYLES = "word/styles.xml"
MARK = b"vanish"
OFF = ("0", "false", "off")
TEXTS, ROWS = "hidden pieces of text", "hidden rows of tables"


def hiding_styles(styles: bytes) -> frozenset[str]:
    """
    Return the identifiers of the styles that hide text.

    Raises:
        xml.etree.ElementTree.ParseError: The part is damaged.
    """
    if MARK not in styles:
        return frozenset()
    return frozenset(
        one.get(f"{W}styleId", "")
        for one in ET.fromstring(styles).iter(f"{W}style")  # noqa: S314 - expat bounds how far entities grow
        if _vanishes(one)
    )


def remove_hidden(root: ET.Element, hiding: frozenset[str]) -> dict[str, int]:
    """
    Remove hidden rows of tables and runs that are hidden, themselves or by their style, and return
    how many with text those were.
    """
    count = rows = 0
    for around in list(root.iter()):
        for row in around.findall(f"{W}tr"):
            if _says(row.find(f"{W}trPr/{W}hidden")):
                around.remove(row)
                rows += any(one.text for one in row.iter(f"{W}t"))
    for paragraph in root.iter(f"{W}p"):
        style = paragraph.find(f"{W}pPr/{W}pStyle")
        by_paragraph = style is not None and style.get(f"{W}val") in hiding
        for around in list(paragraph.iter()):
            for run in around.findall(f"{W}r"):
                if _is_hidden(run, hiding, by_paragraph=by_paragraph):
                    around.remove(run)
                    count += any(one.text for one in run.iter(f"{W}t"))
    return {ROWS: rows, TEXTS: count}


def _is_hidden(run: ET.Element, hiding: frozenset[str], *, by_paragraph: bool) -> bool:
    own = _vanishes(run)
    if own is not None:
        return own
    style = run.find(f"{W}rPr/{W}rStyle")
    return by_paragraph or (style is not None and style.get(f"{W}val") in hiding)


def _vanishes(of: ET.Element) -> bool | None:
    """
    Return what the element says of itself; None where it says nothing.
    """
    return _says(of.find(f"{W}rPr/{W}vanish"))


def _says(mark: ET.Element | None) -> bool | None:
    return None if mark is None else mark.get(f"{W}val", "1") not in OFF
