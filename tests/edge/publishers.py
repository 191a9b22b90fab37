"""
Publishers of two tenants, whose every index version is remembered, while requests are under way.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from adapters.embedder import OnnxEmbedder
from adapters.qdrant_index import HEAD_SECONDS
from adapters.store import IndexStore
from assembler.errors import IndexUnavailable
from assembler.scope import IndexVersion
from indexer.index import run_index
from indexer.request import IndexRequest

TENANTS = ("a", "b")
PUBLISHES = 50
ROLLBACK_EVERY = 5
"""Publishes of a tenant; after every other of these, two revisions are rolled back, else one."""
SOURCES = 5

State = dict[str, str]
Version = tuple[str, str]
"""A tenant and an index version."""


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
    """
    Return the text of a source as a step of its tenant makes it.
    """
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
