"""
Checks of a service's replies by what its other methods say: every promise, on every reply.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import grpc
from contextassembler.client import ContextAssemblerCallError, ContextAssemblerClient
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

REPEAT_EVERY = 5
IN_TIME = frozenset((grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED))
"""What a caller in a hurry, among many, may be answered instead of a context."""

Reply = TypeVar("Reply")
Texts = dict[tuple[str, str, str, str], str]


@dataclass
class Tally:
    """
    What was seen; every count but `requests`, `refused`, `empty` and `tokens` has to be 0.
    """

    requests: int = 0
    refused: int = 0
    empty: int = 0
    tokens: int = 0
    over_budget: int = 0
    miscounted: int = 0
    slice_mismatches: int = 0
    repeated_characters: int = 0
    repeated_texts: int = 0
    unaccounted_candidates: int = 0
    differing_repeats: int = 0
    other_errors: int = 0
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
            + self.other_errors
        )

    def add(self, other: Tally) -> None:
        """
        Add what another saw.
        """
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


class Checker:
    """
    Checks replies by what the service's other methods say.
    """

    def __init__(
        self,
        client: ContextAssemblerClient,
        principals: Sequence[str] = (),
        texts: Texts | None = None,
    ) -> None:
        self._client = client
        self._principals = pb.Principals(values=principals) if principals else None
        self._texts = {} if texts is None else texts
        self.tally = Tally()

    def ask_in_time(
        self, request: service_pb.AssembleContextRequest, timeout_seconds: float
    ) -> None:
        """
        Ask with a deadline, and check the reply if there is one.
        """
        try:
            self.ask(request, timeout_seconds)
        except ContextAssemblerCallError as error:
            self.tally.refused += error.code in IN_TIME
            self.tally.other_errors += error.code not in IN_TIME
            if error.code not in IN_TIME:
                self.tally.examples.append(f"{error}\n{request}")

    def ask(
        self, request: service_pb.AssembleContextRequest, timeout_seconds: float = 60.0
    ) -> pb.AssembledContext:
        """
        Ask, check the reply, and now and then ask the same again.
        """
        reply = self._client.assemble_context(request, timeout_seconds=timeout_seconds)
        tally = self.tally
        tally.requests += 1
        tally.tokens += reply.budget.context_tokens
        tally.empty += not reply.context
        before = tally.violations
        self._count(request, reply)
        self._spans(request, reply)
        self._account(reply)
        if tally.requests % REPEAT_EVERY == 0:
            again = _placed(lambda: self._client.assemble_context(request, timeout_seconds=60))
            is_whole = not reply.degradations  # less is packed where the deadline is near
            tally.differing_repeats += is_whole and again.context != reply.context
        if tally.violations > before:
            tally.examples.append(str(request))
        return reply

    def _count(
        self, request: service_pb.AssembleContextRequest, reply: pb.AssembledContext
    ) -> None:
        asked = service_pb.CountTokensRequest(
            tokenizer=request.budget.tokenizer, texts=[reply.context]
        )
        counted = _placed(lambda: self._client.count_tokens(asked)).text_tokens[0]
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
            asked = service_pb.GetSourceTextRequest(
                index=index,
                scope=pb.Scope(principals=self._principals),
                source_id=source.source_id,
                version=source.version,
                content_sha256=source.content_sha256,
            )
            self._texts[key] = _placed(lambda: self._client.source_text(asked))
        return self._texts[key]


def _placed(call: Callable[[], Reply]) -> Reply:
    """
    Return what a call of the checker itself is answered: again while others have all the places.
    """
    while True:
        try:
            return call()
        except ContextAssemblerCallError as error:
            if error.code is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                raise
            time.sleep(error.retry_seconds or 0.1)
