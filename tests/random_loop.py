"""
Ask a running service at random, through its public API only, and check every promise on every reply.

`python -m tests.random_loop --address localhost:50051 --questions FILE --index NAME [--index …]`
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from contextassembler.client import ContextAssemblerClient
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

TOKENIZERS = ("o200k_base", "cl100k_base", "hf:deepseek")
REPEAT_EVERY = 5


@dataclass
class Tally:
    """
    What was seen; every count but `requests`, `empty` and `tokens` has to be 0.
    """

    requests: int = 0
    empty: int = 0
    tokens: int = 0
    over_budget: int = 0
    miscounted: int = 0
    slice_mismatches: int = 0
    repeated_characters: int = 0
    repeated_texts: int = 0
    unaccounted_candidates: int = 0
    differing_repeats: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def violations(self) -> int:
        return (
            self.over_budget
            + self.miscounted
            + self.slice_mismatches
            + self.repeated_characters
            + self.repeated_texts
            + self.unaccounted_candidates
            + self.differing_repeats
        )


class Checker:
    """
    Checks replies by what the service's other methods say.
    """

    def __init__(self, client: ContextAssemblerClient, principals: Sequence[str] = ()) -> None:
        self._client = client
        self._principals = pb.Principals(values=principals) if principals else None
        self._texts: dict[tuple[str, str, str, str], str] = {}
        self.tally = Tally()

    def ask(self, request: service_pb.AssembleContextRequest) -> pb.AssembledContext:
        """
        Ask, check the reply, and now and then ask the same again.
        """
        reply = self._client.assemble_context(request, timeout_seconds=60)
        tally = self.tally
        tally.requests += 1
        tally.tokens += reply.budget.context_tokens
        tally.empty += not reply.context
        before = tally.violations
        self._count(request, reply)
        self._spans(request, reply)
        self._account(reply)
        if tally.requests % REPEAT_EVERY == 0:
            again = self._client.assemble_context(request, timeout_seconds=60)
            tally.differing_repeats += again.context != reply.context
        if tally.violations > before:
            tally.examples.append(str(request))
        return reply

    def _count(
        self, request: service_pb.AssembleContextRequest, reply: pb.AssembledContext
    ) -> None:
        counted = self._client.count_tokens(
            service_pb.CountTokensRequest(tokenizer=request.budget.tokenizer, texts=[reply.context])
        ).text_tokens[0]
        self.tally.over_budget += counted > request.budget.context_tokens
        self.tally.miscounted += counted != reply.budget.context_tokens

    def _spans(
        self, request: service_pb.AssembleContextRequest, reply: pb.AssembledContext
    ) -> None:
        ranges: dict[tuple[str, str, str], list[tuple[int, int]]] = {}
        shown: dict[str, set[tuple[str, str]]] = {}
        for passage in reply.passages:
            for position, source in enumerate(passage.sources):
                index = request.targets[source.target].index
                text = self._text(index, source)
                for span in source.spans:
                    here = reply.context[span.context.start : span.context.end]
                    there = text[span.source.start : span.source.end]
                    self.tally.slice_mismatches += here != there or not here
                    if position == 0:
                        key = (index, source.source_id, source.version)
                        ranges.setdefault(key, []).append((span.source.start, span.source.end))
                        shown.setdefault(here, set()).add((source.source_id, source.version))
        for spans in ranges.values():
            spans.sort()
            for (_, end), (start, _) in itertools.pairwise(spans):
                self.tally.repeated_characters += max(end - start, 0)
        self.tally.repeated_texts += sum(len(versions) > 1 for versions in shown.values())

    def _account(self, reply: pb.AssembledContext) -> None:
        account = reply.dispositions
        counts = Counter(one.disposition for one in account.list)
        keys = {one.chunk_key for one in account.list}
        is_sound = (
            len(account.list) == account.candidates == len(keys)
            and sum(one.count for one in account.counts) == account.candidates
            and all(counts[one.disposition] == one.count for one in account.counts)
            and pb.DISPOSITION_UNSPECIFIED not in counts
            and counts[pb.DISPOSITION_PACKED] == len(reply.passages)
        )
        self.tally.unaccounted_candidates += not is_sound

    def _text(self, index: str, source: pb.CitedSource) -> str:
        key = (index, source.source_id, source.version, source.content_sha256)
        if key not in self._texts:
            self._texts[key] = self._client.source_text(
                service_pb.GetSourceTextRequest(
                    index=index,
                    scope=pb.Scope(principals=self._principals),
                    source_id=source.source_id,
                    version=source.version,
                    content_sha256=source.content_sha256,
                )
            )
        return self._texts[key]


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
    options = parser.parse_args()
    questions = [
        json.loads(line)["question"]
        for path in options.questions
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    with ContextAssemblerClient(options.address, timeout_seconds=60) as client:
        checker = Checker(client)
        asked = random_requests(options.index, questions, options.seed)
        for _ in range(options.requests):
            checker.ask(next(asked))
    for name, value in vars(checker.tally).items():
        if name != "examples":
            sys.stdout.write(f"{name}: {value}\n")
    for example in checker.tally.examples[:3]:
        sys.stdout.write(f"---\n{example}\n")
    sys.exit(checker.tally.violations > 0)


if __name__ == "__main__":
    main()
