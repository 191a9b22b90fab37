"""
What the benches of scale compute, and the relay that they count bytes with.
"""

from __future__ import annotations

import itertools
import socket
import socketserver
import threading
import time
from collections.abc import Iterator

import pytest

from bench.budgets import Row, further, growth
from bench.phases import closed, open_loop, percentile
from bench.recall import recalls
from bench.relay import relaying
from bench.served import Answer
from bench.soak import BUDGETS, memory, wishes

DELAY_SECONDS = 0.02


class Echo(socketserver.BaseRequestHandler):
    """
    Answers every byte with the same, twice.
    """

    def handle(self) -> None:
        while piece := self.request.recv(4096):
            self.request.sendall(piece + piece)


@pytest.fixture
def echo() -> Iterator[int]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def received(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count and (piece := connection.recv(4096)):
        found += piece
    return found


def test_a_relay_counts_each_direction_and_changes_nothing(echo: int) -> None:
    with relaying(echo) as relay, socket.create_connection(("127.0.0.1", relay.port)) as one:
        one.sendall(b"abcde" * 5000)
        found = received(one, 50_000)

    assert sorted(found) == sorted(b"abcde" * 10_000)
    assert (relay.sent, relay.received, relay.both) == (25_000, 50_000, 75_000)


def test_every_byte_is_on_its_way_for_the_delay(echo: int) -> None:
    with (
        relaying(echo, DELAY_SECONDS) as relay,
        socket.create_connection(("127.0.0.1", relay.port)) as one,
    ):
        began = time.monotonic()
        one.sendall(b"x")
        assert received(one, 2) == b"xx"
        assert time.monotonic() - began >= 1.99 * DELAY_SECONDS


def test_the_end_of_a_direction_is_passed_on(echo: int) -> None:
    with relaying(echo) as relay, socket.create_connection(("127.0.0.1", relay.port)) as one:
        one.sendall(b"last")
        one.shutdown(socket.SHUT_WR)

        assert received(one, 100) == b"lastlast"


def test_a_relay_to_nobody_closes_its_connections() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with relaying(port) as relay, socket.create_connection(("127.0.0.1", relay.port)) as one:
            assert received(one, 1) == b""


def test_recall_is_the_part_of_what_is_there() -> None:
    found = [frozenset("abx"), frozenset(), frozenset("a"), frozenset("a")]
    there = [frozenset("abcd"), frozenset("a"), frozenset(), frozenset("a")]

    assert recalls(found, there) == [0.5, 0.0, 1.0, 1.0]


def test_growth_compares_cpu_with_tokens() -> None:
    rows = [
        Row(n, tokens, cpu, 0.0, {}) for n, tokens, cpu in ((1, 10, 4), (2, 20, 6), (3, 80, 36))
    ]

    assert growth(rows) == [0.75, 1.5]
    assert further(rows) == [200.0, 500.0]
    assert growth(rows[:1]) == further(rows[:1]) == []


def test_memory_is_told_by_its_ends_and_its_most() -> None:
    samples = [100.0, 101.0, 99.0, *[150.0] * 54, 111.0, 110.0, 109.0]

    assert memory(samples) == pytest.approx(
        {
            "start": 100.0,
            "end": 110.0,
            "largest": 150.0,
            "growth_percent": 10.0,
            "largest_growth_percent": 50.0,
        }
    )
    assert memory([7.0])["growth_percent"] == 0.0


def test_wishes_vary_and_never_repeat_a_question() -> None:
    asked = list(itertools.islice(wishes(f"q{n}" for n in itertools.count()), 100))

    questions = [text for one in asked for text in one.questions]
    assert questions == [f"q{n}" for n in range(len(questions))]
    assert {len(one.questions) for one in asked} == {1, 2, 3}
    assert {one.budget for one in asked} == set(BUDGETS)


async def test_callers_that_wait_ask_again_and_arrivals_do_not_wait() -> None:
    async def refused() -> Answer:
        return Answer(0.5, "RESOURCE_EXHAUSTED")

    async def answered() -> Answer:
        return Answer(0.5, "OK", 1, "a")

    waited, arrived = await closed(answered, 3, 0.0), await open_loop(refused, 1e6, 1e-4)

    assert waited.answers == ()
    assert arrived.refused == list(arrived.answers)
    assert all(one.seconds >= 0.5 for one in arrived.answers)


def test_a_percentile_is_the_nearest_rank() -> None:
    assert [percentile([4.0, 1.0, 3.0, 2.0], part) for part in (0.0, 0.5, 0.51, 1.0)] == [
        1,
        2,
        3,
        4,
    ]
