"""
HTML to Markdown, without what belongs to the site rather than to the page.
"""

from __future__ import annotations

import re

from bs4 import BeautifulSoup, Tag
from bs4.element import PreformattedString

from indexer.formats.converted import Converted, NotConverted
from indexer.formats.html_tables import plain_cells
from indexer.formats.html_text import PageConverter
from indexer.formats.html_tree import HtmlTree

UNREAD = ("script", "style", "nav", "template", "noscript")
OF_SITE = ("header", "footer")
"""Belong to the site where they stand outside of `CONTENT`."""

CONTENT = ("article", "main")
ROLES = ("navigation", "banner", "contentinfo", "search")
ASIDE = "complementary"
"""The role of an `aside`."""

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
    and of what stands outside of articles no footers, headers without a heading, and, where there
    are articles, asides.

    Elements that `hidden` or their own style hides and dialogs that are not open are left out. Told
    are these, and the words of the page beside its `main` or articles.

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
    page, words = _main_part(soup)
    text = PageConverter(heading_style="ATX", bullets="-").convert_soup(page)
    left_out = (
        *([f"has {hidden} hidden elements, which are left out"] if hidden else []),
        *([f"has {words} words beside its main part, which are left out"] if words else []),
    )
    return Converted(plain_cells(text).strip("\n") + "\n", left_out=left_out)


def _main_part(soup: BeautifulSoup) -> tuple[Tag, int]:
    """
    Return the part of a page that is read, and how many words stand beside it.
    """
    beside: list[Tag] = []
    if any(tag.find_parent(_is_aside) is None for tag in soup(CONTENT)):
        beside += [
            tag.extract() for tag in soup.find_all(_is_aside) if tag.find_parent(CONTENT) is None
        ]
    mains = soup("main")
    page = soup.body or soup
    if len(mains) == 1:
        beside.append(page)
        page = mains[0].extract()
        for tag in soup("title"):
            tag.decompose()
    return page, sum(len(tag.get_text(" ").split()) for tag in beside)


def _is_aside(tag: Tag) -> bool:
    return tag.name == "aside" or tag.get("role") == ASIDE


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
    if tag.name == "dialog" and tag.get("open") is None:
        return True
    hidden = tag.get("hidden")
    if hidden is not None and str(hidden).strip().lower() != REACHED:
        return True
    return bool(UNSEEN.search(str(tag.get("style", ""))))
