"""
The random loop over the public API, on a running service.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

from contextassembler.client import ContextAssemblerClient

from tests.random_loop import Checker, random_requests

QUESTIONS = Path(__file__).parents[2] / "examples" / "questions.md"


def test_no_promise_is_broken_by_random_requests(client: ContextAssemblerClient) -> None:
    rows = re.findall(r"^\| ([^|(]+\?)", QUESTIONS.read_text(encoding="utf-8"), re.MULTILINE)
    principals = ("staff", "managers")
    checker = Checker(client, principals)

    for request in islice(random_requests(["handbook"], rows, 7, principals), 300):
        checker.ask(request)

    assert len(rows) > 15
    assert checker.tally.violations == 0, checker.tally.examples[:1]
    assert checker.tally.empty < 150
