"""
HTML to Markdown whose blocks are parted by lines.
"""

from __future__ import annotations

from bs4 import Tag

from indexer.formats.html_tables import TableConverter


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
