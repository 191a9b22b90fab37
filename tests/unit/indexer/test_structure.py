"""
Blocks and what a part of them carries.
"""

from __future__ import annotations

from indexer.structure import markdown_structure


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
