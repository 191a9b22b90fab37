"""
Blocks and what a part of them carries.
"""

from __future__ import annotations

from indexer.structure import markdown_structure
from tests.unit.indexer.cutting import cut


def leads(text: str) -> list[str]:
    return [text[one.lead.start : one.lead.end] for one in markdown_structure(text).blocks]


def test_a_table_in_a_quote_and_a_fence_in_a_list_have_leads() -> None:
    quoted = "> | a | b |\n> | --- | --- |\n> | 1 | 2 |\n"
    listed = "1. Do this:\n\n   ```sh\n   run it\n   ```\n"

    assert leads(quoted) == ["> | a | b |\n> | --- | --- |\n"]
    assert "   ```sh\n" in leads(listed)


def test_a_nested_list_carries_the_line_above_it() -> None:
    text = "- fruit, namely:\n  - apples\n  - pears\n- bread\n"

    assert leads(text) == ["- fruit, namely:\n"]


def test_a_heading_in_a_quote_heads_nothing() -> None:
    assert markdown_structure("> # Quoted\n\ntext\n").headings == ()


def test_a_table_longer_than_a_section_stays_in_one_with_its_header() -> None:
    rows = "".join(f"| city{n} | {n * 10} EUR | the hotel limit of city{n} |\n" for n in range(120))
    text = f"# Travel\n\nThe limits follow.\n\n| city | limit | remark |\n| --- | --- | --- |\n{rows}\nEnd.\n"

    source = cut(text, "t.md")

    home = [one for one in source.sections if "city119" in one.text]
    assert home[0].blocks[0].lead.slice(text).startswith("| city | limit")
    assert home[0].span.contains(home[0].blocks[0].lead)
    assert "".join(one.text for one in source.sections) == text
