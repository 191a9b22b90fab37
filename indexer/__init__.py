"""
Builds what the assembler reads.
"""
