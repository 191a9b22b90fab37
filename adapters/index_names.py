"""
Which names an index can have: they become folders and parts of collection names.
"""

from __future__ import annotations

import re

from assembler.errors import IndexUnusable

_NAME = re.compile(r"[a-z0-9-]{1,40}")


def is_index_name(name: str) -> bool:
    """
    Return whether an index can have this name.
    """
    return _NAME.fullmatch(name) is not None


def require_index_name(name: str) -> None:
    """
    Refuse a name that no index can have.

    Raises:
        IndexUnusable: The name is malformed.
    """
    if not is_index_name(name):
        problem = "a name has 1 to 40 characters of a-z, 0-9 and '-'; choose another"
        raise IndexUnusable(name, problem)
