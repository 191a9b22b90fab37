"""
What is odd in a text that was read all the same, and what reading left out: said, file by file.
"""

from __future__ import annotations

from indexer.cut_source import CutSource

LONG_LINE = 20_000
"""Characters of a line that no person wrote as one."""


def oddities_of(cut: CutSource) -> list[str]:
    """
    Return a sentence for each thing in a source that its owner may not know of.
    """
    text = cut.text
    found = list(cut.file.left_out)
    if nuls := text.count("\x00"):
        found.append(f"holds {nuls} NUL, which are kept")
    if lost := text.count("\ufffd"):
        found.append(f"holds {lost} U+FFFD: letters were lost before it came here")
    longest = max(map(len, text.split("\n")))
    if longest >= LONG_LINE:
        found.append(
            f"has a line of {longest} characters; it is cut inside where it has no borders"
        )
    if _is_headings_alone(cut):
        found.append("has headings and no text below any of them")
    return [f"{cut.file.source_id} {one}" for one in found]


def _is_headings_alone(cut: CutSource) -> bool:
    """
    Return whether every line of a text with headings is one.
    """
    if not any(section.heading_path for section in cut.sections):
        return False
    lines = (line.strip() for line in cut.text.split("\n"))
    return all(not line or line.startswith("#") for line in lines)
