"""
Equations of Word as plain text.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
SUPER, SUB = "\ufdd8", "\ufdd9"
"""Stand for ^ and _ until the Markdown is written, which escapes those of a text."""

_ONE = re.compile(r"\d+|.|\([^()]*\)")


def with_marks(text: str) -> str:
    """
    Return a Markdown text with the marks that stood for ^ and _.
    """
    return text.replace(SUPER, "^").replace(SUB, "_")


def marked(text: str, mark: str) -> str:
    """
    Return raised or lowered text behind its mark, in parentheses where it is longer than a number
    or a letter.
    """
    return f"{mark}{_grouped(text)}"


def equation(of: ET.Element) -> str:
    """
    Return an equation in one line: fractions with /, powers with ^, indices with _, roots with √.
    """
    named = [(one.tag.removeprefix(M), equation(one)) for one in of if not one.tag.endswith("Pr")]
    parts = dict(named)
    inner = [text for name, text in named if name == "e"]
    base = "".join(inner)
    raised = "".join(
        marked(parts[name], mark)
        for name, mark in (("sub", SUB), ("sup", SUPER))
        if parts.get(name)
    )
    match of.tag.removeprefix(M):
        case "t":
            text = of.text or ""
        case "f":
            text = f"{_grouped(parts.get('num', ''))}/{_grouped(parts.get('den', ''))}"
        case "sSup" | "sSub" | "sSubSup":
            text = f"{_grouped(base)}{raised}"
        case "nary":
            text = f"{_property(of, 'chr', '∫')}{raised} {base}"
        case "rad":
            degree = parts.get("deg", "")
            text = f"{marked(degree, SUPER) if degree else ''}√{_grouped(base)}"
        case "d":
            between = _property(of, "sepChr", "|").join(inner)
            text = f"{_property(of, 'begChr', '(')}{between}{_property(of, 'endChr', ')')}"
        case "m":
            text = "; ".join(part for _, part in named)
        case "mr":
            text = ", ".join(inner)
        case "eqArr":
            text = "; ".join(inner)
        case _:
            text = "".join(part for _, part in named)
    return text


def _property(of: ET.Element, name: str, otherwise: str) -> str:
    """
    Return a sign that the equation names for itself.
    """
    named = of.find(f"{M}{of.tag.removeprefix(M)}Pr/{M}{name}")
    return otherwise if named is None else named.get(f"{M}val", "")


def _grouped(text: str) -> str:
    return text if _ONE.fullmatch(text) else f"({text})"
