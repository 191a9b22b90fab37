"""
The random loop over the public API, on a running service.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

from contextassembler.client import ContextAssemblerClient

from tests.random_loop import many_clients, random_requests
from tests.reply_checks import Checker

QUESTIONS = Path(__file__).parents[2] / "examples" / "questions.md"


PRINCIPALS = ("staff", "managers")


def questions() -> list[str]:
    rows = re.findall(r"^\| ([^|(]+\?)", QUESTIONS.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) > 15
    return rows


def test_no_promise_is_broken_by_random_requests(client: ContextAssemblerClient) -> None:
    checker = Checker(client, PRINCIPALS)

    for request in islice(random_requests(["handbook"], questions(), 7, PRINCIPALS), 300):
        checker.ask(request)

    assert checker.tally.violations == 0, checker.tally.examples[:1]
    assert checker.tally.empty < 150


def test_no_promise_is_broken_by_many_clients_in_a_hurry(
    address: str, client: ContextAssemblerClient
) -> None:
    rows = questions()

    tally = many_clients(
        address,
        clients=64,
        requests=640,
        made=lambda number: random_requests(["handbook"], rows, number, PRINCIPALS),
        principals=PRINCIPALS,
    )

    assert tally.violations == 0, tally.examples[:1]
    assert tally.requests > 0
    assert tally.refused > 0
    assert tally.requests + tally.refused == 640
    assert client.assemble_context(next(random_requests(["handbook"], rows, 1, PRINCIPALS)))
