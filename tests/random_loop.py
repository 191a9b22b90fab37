"""
Ask a running service at random, through its public API only, and check every promise on every reply.

`python -m tests.random_loop --address localhost:50051 --questions FILE --index NAME [--index …]`
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from contextassembler.client import ContextAssemblerClient
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

from tests.reply_checks import Checker, Tally, Texts

TOKENIZERS = ("o200k_base", "cl100k_base", "hf:deepseek")
DEADLINES = (0.001, 5.0)
"""Seconds: the shortest and the longest of callers in a hurry."""


def many_clients(
    address: str,
    clients: int,
    requests: int,
    made: Callable[[int], Iterator[service_pb.AssembleContextRequest]],
    principals: Sequence[str] = (),
) -> Tally:
    """
    Let clients with connections of their own ask at once, with deadlines of any length, and return
    what they saw.

    Args:
        address: Of the service.
        clients: How many.
        requests: Of all of them together, rounded down to whole turns.
        made: The requests of the client with this number.
        principals: Who they are.
    """
    texts: Texts = {}

    def ask(number: int) -> Tally:
        draw = random.Random(number)
        shortest, longest = map(math.log, DEADLINES)
        with ContextAssemblerClient(address, timeout_seconds=60) as client:
            checker = Checker(client, principals, texts)
            for request in itertools.islice(made(number), requests // clients):
                checker.ask_in_time(request, math.exp(draw.uniform(shortest, longest)))
        return checker.tally

    total = Tally()
    with ThreadPoolExecutor(clients) as threads:
        for tally in threads.map(ask, range(clients)):
            total.add(tally)
    return total


def random_requests(
    indexes: Sequence[str], questions: Sequence[str], seed: int, principals: Sequence[str] = ()
) -> Iterator[service_pb.AssembleContextRequest]:
    """
    Return endless requests with random budgets, orders, formats, expansions and tokenizers.
    """
    draw = random.Random(seed)
    scope = pb.Scope(principals=pb.Principals(values=principals) if principals else None)
    while True:
        window = draw.random() < 0.25
        many = draw.random() < 0.2
        scope.version_policy = draw.choice([pb.VERSION_POLICY_ACTIVE, pb.VERSION_POLICY_ALL])
        targets = draw.sample(list(indexes), k=min(len(indexes), 2 if many else 1))
        yield service_pb.AssembleContextRequest(
            queries=[
                service_pb.Query(text=text)
                for text in draw.sample(list(questions), k=2 if many else 1)
            ],
            targets=[service_pb.Target(index=index, scope=scope) for index in targets],
            budget=pb.Budget(
                tokenizer=draw.choice(TOKENIZERS),
                context_tokens=draw.choice([draw.randint(1, 64), draw.randint(1, 8000)]),
            ),
            fill=draw.choice([pb.FILL_AUTO, pb.FILL_FULL]),
            retrieval=pb.Retrieval(
                chunk_limit=draw.choice([5, 50, 100]),
                max_source_share=draw.choice([0.3, 1.0]),
                mode=draw.choice(
                    [
                        pb.RETRIEVAL_MODE_HYBRID,
                        pb.RETRIEVAL_MODE_DENSE,
                        pb.RETRIEVAL_MODE_SPARSE,
                        pb.RETRIEVAL_MODE_COARSE_TO_FINE,
                    ]
                ),
            ),
            expansion=pb.Expansion(mode=pb.EXPANSION_MODE_WINDOW, window_chunks=draw.randint(1, 3))
            if window
            else pb.Expansion(
                mode=draw.choice(
                    [
                        pb.EXPANSION_MODE_AUTO,
                        pb.EXPANSION_MODE_CHUNK,
                        pb.EXPANSION_MODE_SECTION,
                    ]
                )
            ),
            layout=pb.Layout(
                order=draw.choice([pb.ORDER_RELEVANCE, pb.ORDER_DOCUMENT, pb.ORDER_EDGES]),
                format=draw.choice([pb.FORMAT_MARKDOWN, pb.FORMAT_XML, pb.FORMAT_PLAIN]),
                headings=draw.choice([pb.HEADINGS_PATH, pb.HEADINGS_NONE]),
            ),
            explain=pb.EXPLAIN_LIST,
        )


def main() -> None:
    """
    Run the loop and print what was seen; exit code 1 with any violation.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", default="localhost:50051")
    parser.add_argument("--index", action="append", required=True)
    parser.add_argument("--questions", action="append", type=Path, required=True)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clients", type=int, default=1, help="more than 1: in a hurry")
    options = parser.parse_args()
    questions = [
        json.loads(line)["question"]
        for path in options.questions
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    if options.clients > 1:
        tally = many_clients(
            options.address,
            options.clients,
            options.requests,
            lambda number: random_requests(options.index, questions, options.seed + number),
        )
    else:
        with ContextAssemblerClient(options.address, timeout_seconds=60) as client:
            checker = Checker(client)
            asked = random_requests(options.index, questions, options.seed)
            for _ in range(options.requests):
                checker.ask(next(asked))
        tally = checker.tally
    for name, value in vars(tally).items():
        if name != "examples":
            sys.stdout.write(f"{name}: {value}\n")
    for example in tally.examples[:3]:
        sys.stdout.write(f"---\n{example}\n")
    sys.exit(tally.violations > 0)


if __name__ == "__main__":
    main()
