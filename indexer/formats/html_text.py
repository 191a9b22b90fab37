"""
HTML to Markdown whose blocks are parted by lines, and whose raised and lowered text is marked.
"""

from __future__ import annotations

import re

from bs4 import Tag
from bs4.element import NavigableString, PageElement

from indexer.formats.html_tables import TableConverter

PLAIN = re.compile(r"[+\-\u2212]?[^\W_]+")
"""What needs no brackets around it."""

MARKS = {"sup": "^", "sub": "_"}
ORDINALS = frozenset(("st", "nd", "rd", "th", "er", "ers", "re", "me", "ème", "º", "ª"))
INLINE = frozenset(
    (
        *("a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "em", "font", "i", "ins", "kbd"),
        *("mark", "s", "samp", "small", "span", "strong", "sub", "sup", "tt", "u", "var"),
    )
)
"""Elements that part no words."""

TEXT = INLINE - MARKS.keys()


class PageConverter(TableConverter):
    """
    Markdown of a page.
    """

    def convert_main(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        """
        Return a block, parted from what stands beside it.
        """
        del el
        inside = text.strip()
        if "_inline" in parent_tags:
            return f" {inside} "
        return f"\n\n{inside}\n\n" if inside else ""

    convert_aside = convert_dialog = convert_details = convert_summary = convert_main
    convert_header = convert_footer = convert_hgroup = convert_figure = convert_main
    convert_address = convert_center = convert_fieldset = convert_legend = convert_form = (
        convert_main
    )

    def convert_option(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        """
        Return a choice, on a line by itself.
        """
        del el, parent_tags
        return f"\n{text.strip()}\n"

    convert_optgroup = convert_option

    def convert_sup(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        """
        Return raised or lowered text, with `^` or `_` where it stands at other text.

        It is as it is where it is a link or an ordinal, or has no letter and no digit.
        """
        del parent_tags
        plain = " ".join("".join(el.find_all(string=True)).split())
        before, after = _before(el), _after(el)
        is_joined = before.strip() or after.isalnum() or after in MARKS.values()
        is_ordinal = before.isdigit() and plain.lower() in ORDINALS
        if not is_joined or is_ordinal or _is_link(el) or not any(map(str.isalnum, plain)):
            return text
        is_plain = PLAIN.fullmatch(plain) and not el.find(lambda tag: tag.name not in TEXT)
        runs_on = any(kind(plain[-1]) and kind(after) for kind in (str.isdigit, str.isalpha))
        inside = plain if is_plain and not runs_on else f"({text.strip()})"
        return f"{MARKS[el.name]}{inside}"

    convert_sub = convert_sup


def _before(el: Tag) -> str:
    """
    Return the letter before an element in its block; "" where there is none.
    """
    for one in el.previous_elements:
        if isinstance(one, NavigableString):
            return one[-1] if _block(one) is _block(el) else ""
        if isinstance(one, Tag) and one.name not in INLINE:
            break
    return ""


def _after(el: Tag) -> str:
    """
    Return the letter after an element in its block, a mark for other such text; "" for none.
    """
    around = el
    while around.next_sibling is None and around.parent and around.parent.name in INLINE:
        around = around.parent
    one: PageElement | None = around.next_sibling
    while isinstance(one, Tag) and one.name in INLINE:
        if one.name in MARKS:
            return MARKS[one.name]
        one = one.contents[0] if one.contents else one.next_sibling
    return one[0] if isinstance(one, NavigableString) else ""


def _block(of: PageElement) -> Tag | None:
    return of.find_parent(lambda tag: tag.name not in INLINE)


def _is_link(el: Tag) -> bool:
    is_inside = el.parent is not None and el.parent.name == "a" and len(el.parent.contents) == 1
    return is_inside or el.find("a", href=True) is not None
