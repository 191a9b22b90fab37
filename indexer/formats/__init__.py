"""
From files that are not text to source text: Markdown, or the plain text of pages.
"""
