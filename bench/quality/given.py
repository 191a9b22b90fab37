"""
What was typed, read: names of sets and budgets.
"""

from __future__ import annotations

from pathlib import Path

from evaluation.question_set import DOCUMENTS


def set_names(folder: Path, asked: list[str]) -> list[str]:
    """
    Return the names of the sets; `all` is every folder that has documents.

    Raises:
        ValueError: One is not there, or none is named.
    """
    there = sorted(one.parent.name for one in folder.glob(f"*/{DOCUMENTS}"))
    names = list(dict.fromkeys(there if "all" in asked else asked))
    missing = [name for name in names if name not in there]
    if missing or not names:
        wanted = missing[0] if missing else "any set"
        raise ValueError(f"{folder} does not hold {wanted}; it holds {', '.join(there) or 'none'}")
    return names


def budgets_of(text: str) -> tuple[int, ...]:
    """
    Return the numbers of a list with commas.

    Raises:
        ValueError: It is none.
    """
    try:
        return tuple(dict.fromkeys(int(one) for one in text.split(",")))
    except ValueError:
        raise ValueError(f"--budgets must be numbers with commas, got {text!r}") from None
