"""
Opened states of embedded indexes: at most a second behind CURRENT, and open while anyone reads.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from adapters.edge_files import IndexFolder, opening
from adapters.edge_paths import StateFolder
from adapters.edge_shard import EdgeShard, close_all
from adapters.edge_state import read_heads, read_ledger, read_manifests
from adapters.head import Head
from adapters.index_names import is_index_name
from adapters.ledger import state_of
from adapters.records import TenantLedger
from assembler.errors import (
    ContextAssemblerError,
    IndexUnavailable,
    IndexUnknown,
    IndexUnusable,
    VersionGone,
)
from assembler.ports import Clock, IndexState
from assembler.scope import IndexVersion

POLL_SECONDS = 1.0
"""How long a state is served before CURRENT is looked at again."""

_KEPT_LEDGERS = 64
_TRIES = 5

Answer = TypeVar("Answer")


class OpenedState:
    """
    One state, its shards opened when first read and closed when retired and no longer read.
    """

    def __init__(self, index: str, folder: StateFolder) -> None:
        self._index = index
        self._folder = folder
        self._lock = threading.Lock()
        self._shards: dict[str, EdgeShard] = {}
        self._ledgers: dict[str, TenantLedger] = {}
        self._reading = 0
        self._is_retired = False
        self.manifests = read_manifests(index, folder)
        self.heads, newest = read_heads(index, folder)
        if newest is None:
            raise IndexUnknown(index)
        self._newest = newest

    @property
    def name(self) -> str:
        """
        Return what CURRENT calls it.
        """
        return self._folder.name

    def head(self, tenant: str) -> Head:
        """
        Return a tenant's head; the empty one where it has never published.
        """
        return self.heads.get(tenant, Head())

    def resolved(self, tenant: str) -> IndexState:
        """
        Return the tenant's part as readers know it.
        """
        return state_of(self._index, self.head(tenant), self.manifests, self._newest)

    def ledger(self, tenant: str) -> TenantLedger:
        """
        Return everything known of a tenant's part.
        """
        ledger = self._ledgers.get(tenant)
        if ledger is None:
            ledger = read_ledger(self._index, self._folder, tenant, self.head(tenant))
            if len(self._ledgers) >= _KEPT_LEDGERS:
                self._ledgers = {}
            self._ledgers[tenant] = ledger
        return ledger

    def shard(self, version: IndexVersion) -> EdgeShard:
        """
        Return the points of a version's generation.

        Raises:
            VersionGone: The generation is not there, or no longer.
        """
        generation = version.generation
        if generation not in self.manifests:
            raise VersionGone(str(version))
        with self._lock:
            if generation not in self._shards:
                with opening(self._folder):
                    path = self._folder.shard(generation)
                    self._shards[generation] = EdgeShard.load(self._index, path)
            return self._shards[generation]

    def open_as(self, other: OpenedState) -> None:
        """
        Open what another state has open, as far as it is here too.
        """
        for generation in other.opened & self.manifests.keys():
            self.shard(IndexVersion(generation, 0))

    @property
    def opened(self) -> set[str]:
        """
        Return the generations whose points are open.
        """
        with self._lock:
            return set(self._shards)

    def enter(self) -> bool:
        """
        Count a reader in; False where the state is closed already.
        """
        with self._lock:
            if self._is_retired and self._reading == 0:
                return False
            self._reading += 1
            return True

    def leave(self) -> None:
        """
        Count a reader out; the last one of a retired state closes it.
        """
        with self._lock:
            self._reading -= 1
            self._close_if_done()

    def retire(self) -> None:
        """
        Let no new readers in, and close when the present ones have left.
        """
        with self._lock:
            self._is_retired = True
            self._close_if_done()

    def _close_if_done(self) -> None:
        if self._is_retired and self._reading == 0:
            shards, self._shards = self._shards, {}
            close_all(shards)


@dataclass(slots=True)
class _Served:
    state: OpenedState
    looked_at: float


class OpenedStates:
    """
    The opened states of all indexes under a root, for any number of threads.
    """

    def __init__(
        self, root: Path, *, clock: Clock = time.monotonic, poll_seconds: float = POLL_SECONDS
    ) -> None:
        self._root = root
        self._clock = clock
        self._poll_seconds = poll_seconds
        self._lock = threading.Lock()
        self._served: dict[str, _Served] = {}

    def fresh(self, index: str) -> OpenedState | None:
        """
        Return the state without touching a file, or None where a file has to be looked at.
        """
        served = self._served.get(index)
        if served is None or self._clock() - served.looked_at >= self._poll_seconds:
            return None
        return served.state

    def ask(
        self, index: str, ask: Callable[[OpenedState], Answer], *, refresh: bool = False
    ) -> Answer:
        """
        Return what a state of the index answers while it is kept open; this may open files.

        A state whose files were removed before they were opened is left for the present one, which
        holds the same revisions.

        Raises:
            IndexUnknown: No index has this name.
            IndexUnusable: Its files are damaged.
            IndexUnavailable: Its files cannot be read.
        """
        for _ in range(_TRIES):
            with self.reading(index, refresh=refresh) as state:
                try:
                    return ask(state)
                except (IndexUnavailable, IndexUnusable):
                    if self._is_current(index, state.name):
                        raise
            refresh = True
        raise IndexUnavailable(f"index {index!r} is published faster than it can be opened")

    @contextmanager
    def reading(self, index: str, *, refresh: bool = False) -> Iterator[OpenedState]:
        """
        Keep the index's state open while it is read; this may open files.

        Raises:
            IndexUnknown: No index has this name.
            IndexUnusable: Its files are damaged.
            IndexUnavailable: Its files cannot be read.
        """
        state = self._current(index, refresh=refresh)
        while not state.enter():
            state = self._current(index, refresh=True)
        try:
            yield state
        finally:
            state.leave()

    def close(self) -> None:
        """
        Close every state, those being read when their readers leave.
        """
        with self._lock:
            served, self._served = self._served, {}
        for entry in served.values():
            entry.state.retire()

    def _current(self, index: str, *, refresh: bool) -> OpenedState:
        fresh = None if refresh else self.fresh(index)
        if fresh is not None:
            return fresh
        if not is_index_name(index):
            raise IndexUnknown(index)
        served = self._served.get(index)
        # While one thread opens a new state, the others go on with the old one.
        if not self._lock.acquire(blocking=served is None or refresh) and served is not None:
            return served.state
        try:
            return self._look(index)
        finally:
            self._lock.release()

    def _look(self, index: str) -> OpenedState:
        served, looked_at = self._served.get(index), self._clock()
        try:
            folder = IndexFolder(self._root, index).current()
            if served is not None and served.state.name == folder.name:
                served.looked_at = looked_at
                return served.state
            state = self._opened(index, folder, served)
        except ContextAssemblerError:
            if self._served.pop(index, None) is not None and served is not None:
                served.state.retire()
            raise
        self._served[index] = _Served(state, looked_at)
        if served is not None:
            served.state.retire()
        return state

    def _opened(self, index: str, folder: StateFolder, served: _Served | None) -> OpenedState:
        for _ in range(_TRIES):
            try:
                state = OpenedState(index, folder)
                if served is not None:
                    # While it is opened, the earlier state answers.
                    state.open_as(served.state)
            except (IndexUnavailable, IndexUnknown, IndexUnusable):
                if self._is_current(index, folder.name):
                    raise
                folder = IndexFolder(self._root, index).current()
            else:
                return state
        raise IndexUnavailable(f"index {index!r} is published faster than it can be opened")

    def _is_current(self, index: str, state: str) -> bool:
        """
        Return whether the files of a state are there: writers remove those of older ones, and a
        purge those of all.
        """
        return IndexFolder(self._root, index).current().name == state
