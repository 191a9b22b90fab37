"""
Commands in the test's own process: a start of Python for each would take longer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import pytest

from cli.main import main


@dataclass(frozen=True)
class Done:
    """
    What a command printed, without line ends in what went wrong, and its exit code.
    """

    returncode: int
    stdout: str
    stderr: str


Call: TypeAlias = Callable[..., Done]


def caller(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """
    Return a function that runs the words of a command.
    """

    def call(*words: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["context-assembler", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Done(code, printed.out, printed.err.replace("\n", " "))

    return call
