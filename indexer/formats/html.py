"""
HTML to Markdown, without what belongs to the site rather than to the page.
"""

from __future__ import annotations

from bs4 import BeautifulSoup
from markdownify import MarkdownConverter

from indexer.formats.converted import NotConverted

UNREAD = ("script", "style", "nav", "template", "noscript", "dialog")
OF_SITE = ("header", "footer", "aside")
"""Belong to the site where they stand outside of `CONTENT`."""

CONTENT = ("article", "main")
ROLES = ("navigation", "banner", "contentinfo", "search", "complementary")
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
PERMALINK = "¶"


def html_to_markdown(html: str) -> str:
    """
    Return the page's Markdown: of its one `main` where it has one, else of its body; no navigation,
    and of what stands outside of articles no footers, asides, and headers without a heading.

    Raises:
        NotConverted: It is nested too deep.
    """
    try:
        return _markdown(html)
    except RecursionError:
        raise NotConverted("has HTML that is nested too deep to convert") from None


def _markdown(html: str) -> str:
    soup = BeautifulSoup(html, "html.parser")
    for tag in soup(list(UNREAD)):
        tag.decompose()
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
    converted: str = MarkdownConverter(heading_style="ATX", bullets="-").convert_soup(page)
    return converted.strip("\n") + "\n"
