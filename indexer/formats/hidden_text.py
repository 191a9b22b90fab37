"""
A Word file without the text that it hides.
"""

from __future__ import annotations

import io
import zipfile
from xml.etree import ElementTree as ET

from indexer.formats.converted import zipped

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
STYLES = "word/styles.xml"
PARTS = ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml")
MARK = b"vanish"
OFF = ("0", "false", "off")


def without_hidden_text(content: bytes) -> tuple[bytes, int]:
    """
    Return a Word file without runs that are hidden, themselves or by their style, and how many with
    text those were; the file itself where it has none.

    Raises:
        NotConverted: It is no zip archive, or protected.
        xml.etree.ElementTree.ParseError: A part is damaged.
    """
    with zipped(content) as archive:
        names = set(archive.namelist())
        if not any(MARK in archive.read(name) for name in names.intersection((STYLES, *PARTS))):
            return content, 0
        parts = {name: archive.read(name) for name in sorted(names)}
    hiding = _hiding_styles(parts.get(STYLES, b""))
    count = 0
    for name in PARTS:
        if name in parts:
            root = ET.fromstring(parts[name])  # noqa: S314 - expat bounds how far entities grow
            count += _remove_hidden(root, hiding)
            parts[name] = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, part in parts.items():
            made.writestr(name, part)
    return out.getvalue(), count


def _hiding_styles(styles: bytes) -> frozenset[str]:
    if MARK not in styles:
        return frozenset()
    return frozenset(
        one.get(f"{W}styleId", "")
        for one in ET.fromstring(styles).iter(f"{W}style")  # noqa: S314 - expat bounds how far entities grow
        if _vanishes(one)
    )


def _remove_hidden(root: ET.Element, hiding: frozenset[str]) -> int:
    count = 0
    for paragraph in root.iter(f"{W}p"):
        style = paragraph.find(f"{W}pPr/{W}pStyle")
        by_paragraph = style is not None and style.get(f"{W}val") in hiding
        for around in list(paragraph.iter()):
            for run in around.findall(f"{W}r"):
                if _is_hidden(run, hiding, by_paragraph=by_paragraph):
                    around.remove(run)
                    count += any(one.text for one in run.iter(f"{W}t"))
    return count


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
    mark = of.find(f"{W}rPr/{W}vanish")
    return None if mark is None else mark.get(f"{W}val", "1") not in OFF
