"""
A running service moves to what is published or rolled back, while it is asked: no request fails,
and every context and every source text is of one revision.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import pytest
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

from adapters.embedder import OnnxEmbedder
from adapters.qdrant_index import HEAD_SECONDS
from adapters.qdrant_store import QdrantStore
from adapters.store import IndexStore
from assembler.errors import IndexUnavailable
from assembler.scope import IndexVersion
from indexer.index import run_index
from indexer.request import IndexRequest
from server.backend import collection_settings, make_store, qdrant_server
from server.settings import Settings
from tests.edge.in_process import Running, reason_of, running_service
from tests.qdrant_server.server import TestServer

TENANTS = ("a", "b")
PUBLISHES = 50
ROLLBACK_EVERY = 5
"""Publishes of a tenant; after every other of these, two revisions are rolled back, else one."""
ASKERS = 6
SOURCES = 5
PAUSE_SECONDS = 0.05
"""Between two requests of an asker: publishers run in this process too."""

State = dict[str, str]
Version = tuple[str, str]
"""A tenant and an index version."""

WITHDRAWN_VERSIONS = 2 * (1 + 2 + 1 + 2)
WITHDRAWN = ("VERSION_GONE", "INDEX_BEHIND")
"""What a request that names a version may be answered with once that is rolled back."""


@dataclass
class History:
    """
    What each index version of each tenant holds: the text of every source by its id.

    Attributes:
        newest: The version that each tenant serves.
        kept: The versions that each tenant can go back to, the newest last.
        withdrawn: Versions that were rolled back: who asks for one by name may be refused.
    """

    states: dict[Version, State] = field(default_factory=dict)
    newest: dict[str, str] = field(default_factory=dict)
    kept: dict[str, list[str]] = field(default_factory=dict)
    withdrawn: set[Version] = field(default_factory=set)

    def record(self, tenant: str, version: str, state: State) -> None:
        assert (tenant, version) not in self.states
        self.states[tenant, version] = dict(state)
        self.kept.setdefault(tenant, []).append(version)
        self.newest[tenant] = version

    def withdraw(self, tenant: str, count: int) -> str:
        """
        Take back the newest versions, before the head moves; return where it has to go.
        """
        kept = self.kept[tenant]
        self.withdrawn |= {(tenant, version) for version in kept[-count:]}
        del kept[-count:]
        self.newest[tenant] = kept[-1]
        return kept[-1]


class UnderWay:
    """
    The requests under way, for a writer that may delete only what none of them can be reading.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._requests: set[object] = set()

    @contextmanager
    def request(self) -> Iterator[None]:
        one = object()
        with self._changed:
            self._requests.add(one)
        try:
            yield
        finally:
            with self._changed:
                self._requests.remove(one)
                self._changed.notify_all()

    def outlast(self, seconds: float) -> None:
        """
        Wait until the service knows the present head, and all requests that began before that have
        ended: what the seconds of a real service stand for.
        """
        assert seconds > HEAD_SECONDS
        time.sleep(HEAD_SECONDS)
        with self._changed:
            before = set(self._requests)
            self._changed.wait_for(lambda: not before & self._requests)


def changes(tenant: str) -> Iterator[State]:
    """
    Yield the desired states of a tenant: one source changes, and now and then one goes or returns.
    """
    state: State = {}
    for step in itertools.count():
        name = f"{step % SOURCES}.md"
        if step % 7 == 6:
            state.pop(name, None)
        elif step % 7 == 3 and step > SOURCES:
            # an earlier text returns: its points of the earlier revisions are still there
            state[name] = text_of(tenant, name, step % SOURCES)
        else:
            state[name] = text_of(tenant, name, step)
        yield dict(state)


def text_of(tenant: str, name: str, step: int) -> str:
    return (
        f"# Refunds {name} of {tenant}\n\nEdition {step} says that refunds of {tenant} take "
        f"{step + 2} days.\n\nSo edition {step} of {name} is the one that {tenant} reads.\n"
    )


class Publisher:
    """
    Publishes one tenant's states from a thread, one after the other, and takes some back.
    """

    def __init__(
        self, tenant: str, store: IndexStore, embedder: OnnxEmbedder, folder: Path, history: History
    ) -> None:
        self._tenant = tenant
        self._store = store
        self._embedder = embedder
        self._folder = folder / tenant
        self._folder.mkdir()
        self._history = history
        self._changes = changes(tenant)

    def publish_and_roll_back(self) -> None:
        """
        Publish as often as a tenant does, with rollbacks in between; the last is a publish.
        """
        publishes = PUBLISHES // len(TENANTS)
        for step in range(publishes):
            self.publish()
            if step % ROLLBACK_EVERY == ROLLBACK_EVERY - 1 and step < publishes - 1:
                self.roll_back(1 + step // ROLLBACK_EVERY % 2)

    def roll_back(self, count: int) -> None:
        """
        Go back before the newest revisions; where nothing is known of how it ended, ask again.
        """
        head = IndexVersion.parse(self._history.newest[self._tenant]).revision
        wanted = IndexVersion.parse(self._history.withdraw(self._tenant, count))
        to = wanted.revision if count > 1 else None
        while True:
            try:
                with self._store.upkeep("docs", self._tenant) as upkeep:
                    version = upkeep.roll_back(to, at=time.time(), head=head)
                break
            except IndexUnavailable:  # the embedded engine has one writer per index
                time.sleep(0.05)
        assert version == wanted

    def publish(self) -> None:
        """
        Publish the next state.
        """
        state = next(self._changes)
        for path in self._folder.iterdir():
            if path.name not in state:
                path.unlink()
        for name, text in state.items():
            (self._folder / name).write_text(text, encoding="utf-8")
        request = IndexRequest(index="docs", paths=(self._folder,), tenant=self._tenant)
        while True:
            try:
                summary = run_index(request, self._store, self._embedder, lambda *_: None)
                break
            except IndexUnavailable:  # the embedded engine has one writer per index
                time.sleep(0.05)
        assert summary.is_published
        self._history.record(self._tenant, summary.index_version, state)


def asking(tenants: tuple[str, ...], at_least: dict[str, str]) -> service_pb.AssembleContextRequest:
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


@pytest.fixture(params=["edge", "qdrant"])
def place(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> Iterator[Settings]:
    """
    Return settings of a backend of its own.
    """
    if request.param == "edge":
        yield settings.model_copy(update={"data_dir": tmp_path / "data"})
        return
    with TestServer() as server:
        url = f"http://127.0.0.1:{server.port}"
        yield settings.model_copy(update={"qdrant_url": url})


def store_of(place: Settings, under_way: UnderWay) -> IndexStore:
    """
    Return where indexes are written, where what readers may see is left until they are done.
    """
    if place.qdrant_url is None:
        return make_store(place)
    return QdrantStore(
        qdrant_server(place), settings=collection_settings(place), sleep=under_way.outlast
    )


async def test_fifty_publishes_and_rollbacks_of_two_tenants_under_load(
    place: Settings, tmp_path: Path
) -> None:
    history, asked, under_way, ended = History(), Asked(), UnderWay(), threading.Event()
    embedder = OnnxEmbedder(place.model_dir, threads=1)
    publishers = [
        Publisher(tenant, store_of(place, under_way), embedder, tmp_path, history)
        for tenant in TENANTS
    ]
    for publisher in publishers:
        await asyncio.to_thread(publisher.publish)

    async with running_service(place) as running:
        askers = [
            asyncio.create_task(
                ask_on(running, history, asked, random.Random(seed), under_way, ended)
            )
            for seed in range(ASKERS)
        ]
        await asyncio.gather(*(asyncio.to_thread(one.publish_and_roll_back) for one in publishers))
        for tenant in TENANTS:
            await moved(running, history, tenant)
        ended.set()
        await asyncio.gather(*askers)

    assert asked.failed(history) == []
    assert asked.mixed(history) == []
    assert len(history.states) == PUBLISHES + len(TENANTS)
    assert len(history.withdrawn) == WITHDRAWN_VERSIONS
    seen = {(t, v) for ts, c in asked.contexts for t, v in zip(ts, c.index_versions, strict=True)}
    assert len(seen) > PUBLISHES // 2
    assert len(asked.contexts) > 2 * PUBLISHES
    assert len(asked.texts) > 2 * PUBLISHES
