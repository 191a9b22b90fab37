"""
Askers of two tenants, and the judgement of what they were answered by what was published.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import threading
from dataclasses import dataclass, field

import grpc
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

from tests.edge.in_process import Running, reason_of
from tests.edge.publishers import History, State, UnderWay, Version

PAUSE_SECONDS = 0.05
"""Between two requests of an asker: publishers run in this process too."""
WITHDRAWN = ("VERSION_GONE", "INDEX_BEHIND")
"""What a request that names a version may be answered with once that is rolled back."""


def asking(tenants: tuple[str, ...], at_least: dict[str, str]) -> service_pb.AssembleContextRequest:
    """
    Return a question to these tenants, each at no older version than the one given for it.
    """
    return service_pb.AssembleContextRequest(
        queries=[service_pb.Query(text="How many days do refunds take?")],
        targets=[
            service_pb.Target(
                index="docs", scope=pb.Scope(tenant=tenant, at_least=at_least.get(tenant))
            )
            for tenant in tenants
        ],
        budget=pb.Budget(tokenizer="o200k_base", context_tokens=4000),
        fill=pb.FILL_FULL,
    )


def is_of(context: pb.AssembledContext, target: int, state: State) -> bool:
    """
    Return whether a target's part of a context is exactly a state: all its sources, no others,
    every hash and every slice.
    """
    cited: set[str] = set()
    for passage in context.passages:
        for source in passage.sources:
            if source.target != target:
                continue
            text = state.get(source.source_id)
            if text is None:
                return False
            if source.content_sha256 != hashlib.sha256(text.encode()).hexdigest():
                return False
            cited.add(source.source_id)
            for span in source.spans:
                shown = context.context[span.context.start : span.context.end]
                if shown != text[span.source.start : span.source.end]:
                    return False
    return cited == state.keys()


@dataclass
class Asked:
    """
    What was asked and answered: judged when all that was published is known.
    """

    contexts: list[tuple[tuple[str, ...], pb.AssembledContext]] = field(default_factory=list)
    texts: list[tuple[str, str, str, str]] = field(default_factory=list)
    refused: list[tuple[str, frozenset[Version]]] = field(default_factory=list)

    def failed(self, history: History) -> list[str]:
        """
        Return every error but those of requests that named a version which was rolled back.
        """
        return [
            error
            for error, named in self.refused
            if not (error.startswith(WITHDRAWN) and named & history.withdrawn)
        ]

    def mixed(self, history: History) -> list[str]:
        """
        Return every context and text that is not of exactly one revision.
        """
        found = []
        for tenants, context in self.contexts:
            for target, tenant in enumerate(tenants):
                version = context.index_versions[target]
                if not is_of(context, target, history.states.get((tenant, version), {})):
                    found.append(f"{tenant} {version}: {context.context}")
        for tenant, version, source_id, text in self.texts:
            if history.states.get((tenant, version), {}).get(source_id) != text:
                found.append(f"{tenant} {version} {source_id}: {text}")
        return found


async def ask_on(
    running: Running,
    history: History,
    asked: Asked,
    rng: random.Random,
    under_way: UnderWay,
    ended: threading.Event,
) -> None:
    """
    Ask for one tenant or both, at times for no older version than the newest known, and read back a
    source of the same version.
    """
    while not ended.is_set():
        await asyncio.sleep(PAUSE_SECONDS)
        tenants = rng.choice([("a",), ("b",), ("a", "b"), ("b", "a")])
        at_least = dict(history.newest) if rng.random() < 0.3 else {}
        named = frozenset(at_least.items())
        try:
            with under_way.request():
                reply = await running.stub.AssembleContext(asking(tenants, at_least), timeout=60)
            context = reply.context
            asked.contexts.append((tenants, context))
            source = rng.choice([one for passage in context.passages for one in passage.sources])
            tenant, version = tenants[source.target], context.index_versions[source.target]
            named = frozenset({(tenant, version)})
            with under_way.request():
                read = await running.stub.GetSourceText(
                    service_pb.GetSourceTextRequest(
                        index="docs",
                        scope=pb.Scope(tenant=tenant, exactly=version),
                        source_id=source.source_id,
                        content_sha256=source.content_sha256,
                    ),
                    timeout=60,
                )
            asked.texts.append((tenant, version, source.source_id, read.text))
        except grpc.aio.AioRpcError as error:
            asked.refused.append((f"{reason_of(error)}: {error.details()}", named))


async def moved(running: Running, history: History, tenant: str) -> None:
    """
    Wait until the service, asked for no version, answers by the newest one.
    """
    for _ in range(200):
        reply = await running.stub.AssembleContext(asking((tenant,), {}))
        if reply.context.index_versions[0] == history.newest[tenant]:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the service did not move to the newest version")
