"""
What a run of the bench asks for, as it goes to every process.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

from assembler.request import ExpansionMode, Fill, Format, Order, RetrievalMode

TOKENIZER = "o200k_base"
BUDGETS = (256, 512, 1024, 2048, 4096)


class FillChoice(enum.Enum):
    """
    Which of the two ways to fill a budget are measured.
    """

    FULL = "full"
    AUTO = "auto"
    BOTH = "both"

    @property
    def fills(self) -> tuple[Fill, ...]:
        """
        Return them as requests know them.
        """
        return (Fill.FULL, Fill.AUTO) if self is FillChoice.BOTH else (Fill(self.value),)


@dataclass(frozen=True, slots=True)
class Options:
    """
    How the questions are asked.

    Attributes:
        section_limit: None takes the profile's.
        profile: None takes the one of the model.
        is_pinned: A question that names a version reads that version alone.
        is_scoped: A question that names documents reads those alone.
        baselines: Whether the restated baselines are measured too.
        ablations: Whether the product is measured without each of its signals too.
    """

    budgets: tuple[int, ...] = BUDGETS
    fill: FillChoice = FillChoice.BOTH
    expansion: ExpansionMode = ExpansionMode.AUTO
    order: Order = Order.RELEVANCE
    form: Format = Format.MARKDOWN
    mode: RetrievalMode = RetrievalMode.HYBRID
    section_limit: int | None = None
    profile: str | None = None
    is_pinned: bool = False
    is_scoped: bool = False
    baselines: bool = True
    ablations: bool = False

    def __post_init__(self) -> None:
        """
        Refuse budgets that measure nothing, and two scopes at once.
        """
        if not self.budgets or min(self.budgets) < 1:
            msg = f"budgets must be whole numbers above 0, got {self.budgets}"
            raise ValueError(msg)
        if self.is_pinned and self.is_scoped:
            msg = "pinned and scoped are two ways to restrict a question; take one"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class Job:
    """
    Where everything lies that a process of the bench opens, and how it asks.

    Attributes:
        limit: The first so many questions are asked; None asks all.
    """

    folder: Path
    questions: Path | None
    limit: int | None
    index: str
    data_dir: Path
    model_dir: Path
    tokenizer_dir: Path
    options: Options
