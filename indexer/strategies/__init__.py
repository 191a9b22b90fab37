"""
The ways to cut a text, by name: each yields sections and chunks with offsets into the same text.
"""
