"""
HTML to Markdown, without what belongs to the site rather than to the page.
"""

from __future__ import annotations

import re

from bs4 import BeautifulSoup, Tag
from bs4.element import PreformattedString

from indexer.formats.converted import Converted, NotConverted
from indexer.formats.html_tables import TableConverter, plain_cells
from indexer.formats.html_tree import HtmlTree

UNREAD = ("script", "style", "nav", "template", "noscript", "dialog")
OF_SITE = ("header", "footer", "aside")
"""Belong to the site where they stand outside of `CONTENT`."""

CONTENT = ("article", "main")
ROLES = ("navigation", "banner", "contentinfo", "search", "complementary")
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
PERMALINK = "¶"
UNSEEN = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)"
    r"|(?:opacity|font-size)\s*:\s*0(?:\.0*)?(?:[a-z]*|%))\s*(?:!\s*important\s*)?(?:;|$)",
    re.IGNORECASE,
)
"""Declarations of a `style` attribute under which nothing is shown."""

REACHED = "until-found"
"""The value of `hidden` for what a search in the page opens."""


def html_to_markdown(html: str) -> Converted:
    """
    Return the page's Markdown: of its one `main` where it has one, else of its body; no navigation,
    and of what stands outside of articles no footers, asides, and headers without a heading.

    Elements that `hidden` or their own style hides are left out.

    Raises:
        NotConverted: It is nested too deep.
    """
    try:
        return _markdown(html)
    except RecursionError:
        raise NotConverted("has HTML that is nested too deep to convert") from None


def _markdown(html: str) -> Converted:
    soup = HtmlTree(html)
    for tag in soup(list(UNREAD)):
        tag.decompose()
    for part in soup.find_all(string=lambda text: isinstance(text, PreformattedString)):
        part.extract()  # comments, processing instructions and the like
    hidden = _without_hidden(soup)
    for tag in soup.find_all(lambda one: one.get("role") in ROLES):
        tag.decompose()
    for tag in soup(list(OF_SITE)):
        if tag.find_parent(CONTENT) is None and (tag.name != "header" or not tag.find(HEADINGS)):
            tag.decompose()
    for tag in soup("a"):
        if tag.get_text().strip() == PERMALINK:
            tag.decompose()
    mains = soup("main")
    page = mains[0] if len(mains) == 1 else soup.body or soup
    text = TableConverter(heading_style="ATX", bullets="-").convert_soup(page)
    left_out = (f"has {hidden} hidden elements, which are left out",) if hidden else ()
    return Converted(plain_cells(text).strip("\n") + "\n", left_out=left_out)


def _without_hidden(soup: BeautifulSoup) -> int:
    """
    Remove what is hidden and return how many elements with text that were.
    """
    count = 0
    for tag in soup.find_all(_is_hidden):
        if not tag.decomposed:
            count += bool(tag.get_text(strip=True))
            tag.decompose()
    return count


def _is_hidden(tag: Tag) -> bool:
    if tag.name in ("html", "body"):  # hidden until a script has run
        return False
    hidden = tag.get("hidden")
    if hidden is not None and str(hidden).strip().lower() != REACHED:
        return True
    return bool(UNSEEN.search(str(tag.get("style", ""))))
