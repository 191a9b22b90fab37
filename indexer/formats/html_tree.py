"""
The tree of an HTML page, with elements closed where the HTML standard closes them.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

from bs4 import BeautifulSoup, Tag

MOST_DEPTH = 500
"""Open elements; the stack is gone through for every tag, and deeper pages cannot be converted."""

_SECTIONS = frozenset({"thead", "tbody", "tfoot"})
_CELLS = frozenset({"td", "th"})
_BEFORE_ROWS = frozenset({"caption", "colgroup"})
_IN_TABLE = _SECTIONS | _CELLS | _BEFORE_ROWS | {"tr"}
_TABLE = frozenset({"table", "template"})
_SCOPE = _TABLE | _CELLS | {"caption", "object", "applet", "marquee", "html", "body"}
_BLOCKS = """
    address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption
    figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p plaintext
    pre search section summary table ul xmp
"""
_ENDS_P = frozenset(_BLOCKS.split())
_AROUND_ITEMS = (_ENDS_P | _SCOPE | {"button", "select"}) - {"address", "div", "p"}
_RUBY = frozenset({"rb", "rt", "rp", "rtc"})
_P = (frozenset({"p"}), _SCOPE | {"button"})
_DD = (frozenset({"dd", "dt"}), _AROUND_ITEMS)
_SECTION = (_IN_TABLE, _TABLE)
_CELL = (_CELLS | _BEFORE_ROWS, _TABLE)

ENDED: dict[str, tuple[AbstractSet[str], AbstractSet[str]]] = {
    "li": (frozenset({"li"}), _AROUND_ITEMS),
    "dd": _DD,
    "dt": _DD,
    "option": (frozenset({"option"}), _SCOPE | {"select", "optgroup", "datalist"}),
    "optgroup": (frozenset({"option", "optgroup"}), _SCOPE | {"select"}),
    "rt": (_RUBY - {"rtc"}, _SCOPE | {"ruby", "rtc"}),
    "rp": (_RUBY - {"rtc"}, _SCOPE | {"ruby", "rtc"}),
    "rb": (_RUBY, _SCOPE | {"ruby"}),
    "rtc": (_RUBY, _SCOPE | {"ruby"}),
    "td": _CELL,
    "th": _CELL,
    "tr": (_IN_TABLE - _SECTIONS, _TABLE),
    "col": (_IN_TABLE - {"colgroup"}, _TABLE),
    **dict.fromkeys(_SECTIONS | _BEFORE_ROWS, _SECTION),
}
"""By start tag: the open elements that it ends, and those beyond which it ends none."""

_KEPT_OPEN = ("html", "body")
_ENDS_INSIDE = {
    "table": frozenset({"template"}),
    "p": _P[1],
    "li": _SCOPE | {"ol", "ul"},
    **dict.fromkeys(_IN_TABLE, _TABLE),
}
"""By end tag: the elements whose insides it ends nothing outside of; others have `_SCOPE`."""


class HtmlTree(BeautifulSoup):
    """
    A page whose optional end tags are all there, and whose end tags close nothing around a cell.

    Raises:
        RecursionError: It is nested too deep.
    """

    def __init__(self, html: str) -> None:
        super().__init__(html, "html.parser")

    def handle_starttag(self, name: str, *args: Any, **kwargs: Any) -> Tag | None:
        """
        Close what the start tag ends, and open its element.
        """
        if name in ENDED:
            self._end(*ENDED[name])
        if name in _ENDS_P:
            self._end(*_P)
        if name in _CELLS and self._is_beside_rows():
            super().handle_starttag("tr", None, None, {})
        if len(self.tagStack) > MOST_DEPTH:
            raise RecursionError
        return super().handle_starttag(name, *args, **kwargs)

    def handle_endtag(self, name: str, nsprefix: str | None = None) -> None:
        """
        Close the element, where it is open; the body goes on to the end of the page.
        """
        if name in _KEPT_OPEN or not self.open_tag_counter[name]:
            return
        inside = _ENDS_INSIDE.get(name, _SCOPE)
        for around in reversed(self.tagStack):
            if around.name == name:
                super().handle_endtag(name, nsprefix)
            if around.name == name or around.name in inside:
                return

    def _is_beside_rows(self) -> bool:
        names = (tag.name for tag in reversed(self.tagStack))
        return next((name for name in names if name in ("tr", "table")), "") == "table"

    def _end(self, ended: AbstractSet[str], around: AbstractSet[str]) -> None:
        """
        Close the outermost of these elements that stands inside of all around.
        """
        if not any(self.open_tag_counter[name] for name in ended):
            return
        last = len(self.tagStack)
        for depth in range(last - 1, 0, -1):
            name = self.tagStack[depth].name
            if name in ended:
                last = depth
            elif name in around:
                break
        while len(self.tagStack) > last:
            super().handle_endtag(self.tagStack[-1].name)
