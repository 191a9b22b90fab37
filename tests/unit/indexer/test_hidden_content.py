"""
What a reader of a document does not see is not read, and how much that is is told.
"""

from __future__ import annotations

import pytest

from indexer.formats.epub import epub_to_markdown
from indexer.formats.html import html_to_markdown
from tests.documents import epub

HIDDEN_ELEMENT = "has 1 hidden elements, which are left out"


@pytest.mark.parametrize(
    "element",
    [
        "<p hidden>unseen</p>",
        "<p HIDDEN='hidden'>unseen</p>",
        "<p style='display:none'>unseen</p>",
        "<p style='color: red; Display : None !important;'>unseen</p>",
        "<span style='visibility: hidden'>un<b hidden>se</b>en</span>",
        "<p style='visibility:collapse'>unseen</p>",
        "<p style='font-size:0px'>unseen</p>",
        "<p style='opacity: 0.0'>unseen</p>",
    ],
)
def test_hidden_elements_are_left_out_and_counted(element: str) -> None:
    found = html_to_markdown(f"<body><p>seen</p>{element}<p hidden></p></body>")
    assert (found.text, found.left_out) == ("seen\n", (HIDDEN_ELEMENT,))


@pytest.mark.parametrize(
    "element",
    [
        "<!-- unseen -->",
        "<template><p>unseen</p></template>",
        "<noscript>unseen</noscript>",
        "<![CDATA[unseen]]>",
        "<?php unseen ?>",
    ],
)
def test_what_is_never_shown_is_left_out_without_a_word(element: str) -> None:
    found = html_to_markdown(f"<body><p>seen</p>{element}</body>")
    assert (found.text, found.left_out) == ("seen\n", ())


@pytest.mark.parametrize(
    "element",
    [
        "<p hidden='until-found'>seen</p>",
        "<p style='opacity:0.5; font-size: 0.8em'>seen</p>",
        "<p style='background: url(display:none)'>seen</p>",
        "<details><p>seen</p></details>",
        "<p aria-hidden='true'>seen</p>",
    ],
)
def test_what_a_reader_can_see_stays(element: str) -> None:
    found = html_to_markdown(f"<body style='display:none'>{element}</body>")
    assert (found.text, found.left_out) == ("seen\n", ())


def test_a_book_names_the_chapter_of_what_is_hidden() -> None:
    found = epub_to_markdown(epub("<p>One</p>", "<p>Two</p><p hidden>unseen</p>"))
    assert (found.text, found.left_out) == ("One\n\nTwo\n", (f"{HIDDEN_ELEMENT} (chapter 2)",))
