from __future__ import annotations

import pytest

from assembler.model import BorderKind, Section
from indexer.read_source import CODE
from indexer.strategies.structure import CHUNK_TOKENS, HEADING_SHARE
from tests.unit.indexer.cutting import cut

SENTENCE = "One two three four five six seven eight nine. "


def paths(text: str, media_type: str = "text/markdown") -> list[tuple[str, ...]]:
    return [section.heading_path for section in cut(text, media_type=media_type).sections]


def starts(section: Section, kind: BorderKind) -> list[str]:
    """
    Return the first words at the borders of a kind.
    """
    found = [
        border.offset - section.span.start for border in section.borders if border.kind is kind
    ]
    return [section.text[offset : offset + 12].split("\n")[0].strip() for offset in found]


def test_a_heading_belongs_to_its_section_and_stands_last_in_its_path() -> None:
    body = SENTENCE * 4
    text = f"Before. {body}\n\n# Travel\n\n{body}\n\n## Trains\n\n{body}\n\n# Food\n\n{body}\n"
    sections = cut(text).sections
    assert [one.heading_path for one in sections] == [
        (),
        ("Travel",),
        ("Travel", "Trains"),
        ("Food",),
    ]
    assert [one.text.split("\n")[0] for one in sections[1:]] == ["# Travel", "## Trains", "# Food"]


@pytest.mark.parametrize(
    "text",
    [
        "```sh\n# not a heading\n```\n",
        "~~~\n# not a heading\n",
        "    # not a heading\n",
        "- # not a heading of the text\n",
        "> # not a heading of the text\n",
        "#not a heading\n",
        "\\# not a heading\n",
    ],
)
def test_what_only_looks_like_a_heading_is_none(text: str) -> None:
    assert paths(text) == [()]


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("Setext\n======", "Setext"),
        ("Two\nlines\n-----", "Two lines"),
        ("## *Big* `code()` [link](a) ##", "Big code() link"),
        ("# Großes 👍🏽", "Großes 👍🏽"),
    ],
)
def test_headings_are_read_as_markdown_reads_them(heading: str, title: str) -> None:
    assert paths(f"{heading}\n\n{SENTENCE * 4}") == [(title,)]


def test_a_skipped_level_does_not_confuse_the_path() -> None:
    body = f"\n\n{SENTENCE * 4}\n\n"
    assert paths(f"### C{body}# A{body}### D{body}## B{body}") == [
        ("C",),
        ("A",),
        ("A", "D"),
        ("A", "B"),
    ]


def test_plain_text_and_code_have_no_headings() -> None:
    assert paths("# Title\n\nText.\n", "text/plain") == [()]
    assert paths("# a comment\nx = 1\n", CODE) == [()]


def test_a_long_headed_part_becomes_several_sections_of_the_same_path() -> None:
    sections = cut("# Long\n\n" + (SENTENCE * 5 + "\n\n") * 40).sections
    assert len(sections) > 1
    assert {one.heading_path for one in sections} == {("Long",)}
    assert all(one.text.endswith("\n\n") for one in sections)


def test_a_title_alone_is_joined_with_what_follows_it() -> None:
    (section,) = cut(f"# Title\n\n## Part\n\n{SENTENCE * 4}").sections
    assert section.heading_path == ("Title", "Part")
    assert section.text.startswith("# Title")


def test_a_heading_that_is_too_long_is_shortened_from_the_outer_side() -> None:
    outer = "outer " * 20
    inner = "inner " * 20
    source = cut(f"# {outer}\n\n{SENTENCE * 4}\n\n## {inner}\n\n{SENTENCE * 4}")
    prefix = source.drafts[-1].embedding_input.split("\n")[0]
    assert prefix == inner.strip()
    huge = cut(f"# {'word ' * 500}\n\n{SENTENCE * 4}")
    prefix = huge.drafts[-1].embedding_input.split("\n")[0]
    assert prefix.startswith("word word")
    assert len(prefix.split()) <= CHUNK_TOKENS // HEADING_SHARE


def test_borders_tell_paragraphs_and_sentences_apart() -> None:
    (section,) = cut("One is here. Two is\nhere.\n\nThree is here. Four.\n").sections
    assert starts(section, BorderKind.PARAGRAPH) == ["Three is her"]
    assert starts(section, BorderKind.SENTENCE) == ["Two is", "Four."]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Nach § 3 Abs. 2 und Nr. 5 gilt z.B. der Satz bis zum 22. März.\n"),
        ("en", "The U.S. court met Dr. Smith, e.g. on Monday, for 3.5 hours.\n"),
    ],
)
def test_abbreviations_end_no_sentence(language: str, text: str) -> None:
    (section,) = cut(text, "a.txt", language=language).sections
    assert section.borders == ()


def test_lines_of_code_lists_and_tables_are_sentences() -> None:
    (code,) = cut("def a():\n    return 1\n\nb = 2\n", media_type=CODE).sections
    assert starts(code, BorderKind.SENTENCE) == ["return 1"]
    (rest,) = cut("- one\n- two\n\n| a | b |\n| - | - |\n| c | d |\n").sections
    assert starts(rest, BorderKind.SENTENCE) == ["- two", "| - | - |", "| c | d |"]


def test_blocks_carry_the_lead_that_a_part_of_them_needs() -> None:
    text = (
        "| city | limit |\n| --- | --- |\n| Oslo | 180 |\n\n"
        "These are paid:\n\n- hotel\n- train\n\n```py\na = 1\nb = 2\n```\n\nNo lead.\n\n- x\n"
    )
    (section,) = cut(text).sections
    leads = [section.slice(block.lead).strip() for block in section.blocks]
    assert leads == ["| city | limit |\n| --- | --- |", "These are paid:", "```py"]
    assert section.slice(section.blocks[1].span).strip() == "- hotel\n- train"


def test_text_of_a_million_letters_in_one_line_is_cut() -> None:
    source = cut(SENTENCE * 21_000, "a.txt")
    assert sum(len(draft.text) for draft in source.drafts) == len(SENTENCE) * 21_000


LONG_SENTENCE = "It " + "says that the landlord, the tenant and their heirs agree, " * 60 + "again."


def test_a_sentence_is_longer_than_a_section_rather_than_cut() -> None:
    text = f"{SENTENCE * 30}\n\n{LONG_SENTENCE}\n\n{SENTENCE * 30}"
    source = cut(text, "text/plain")

    (holding,) = [one for one in source.sections if "heirs" in one.text]

    assert LONG_SENTENCE in holding.text
    assert holding.text.strip() == LONG_SENTENCE
    assert not [one for one in holding.borders if one.offset in holding.span]


def test_a_sentence_that_no_section_holds_says_where_it_is_cut() -> None:
    text = "word " * 30_000
    first, *middle, last = cut(text, "text/plain").sections

    def edges(section: Section) -> tuple[bool, bool]:
        forced = {one.offset for one in section.borders if one.kind is BorderKind.FORCED}
        return section.span.start in forced, section.span.end in forced

    assert middle
    assert edges(first) == (False, True)
    assert {edges(one) for one in middle} == {(True, True)}
    assert edges(last) == (True, False)
