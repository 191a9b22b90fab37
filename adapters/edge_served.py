"""
Served states of embedded indexes: at most a second behind CURRENT, and open while anyone reads.

A state is served until its successor is open. It stays open beyond that for requests that are
under way where the successor does not see their version as it was published: a rollback, a
collection, a move to another generation.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from adapters.edge_errors import readable, require_there
from adapters.edge_files import IndexFolder
from adapters.edge_opened import OpenedState
from adapters.edge_paths import StateFolder
from adapters.head import SETTLE_SECONDS
from adapters.index_names import is_index_name
from adapters.kept_records import KeptRecords
from assembler.errors import (
    ContextAssemblerError,
    IndexUnavailable,
    IndexUnknown,
    IndexUnusable,
    VersionGone,
)
from assembler.ports import Clock
from assembler.scope import ReadScope

POLL_SECONDS = 1.0
"""How long a state is served before CURRENT is looked at again."""

_KEPT_OPEN = 8
"""How many left states of an index stay open at most."""
_TRIES = 5

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class _Left:
    state: OpenedState
    left_at: float


@dataclass(slots=True)
class _Served:
    state: OpenedState
    looked_at: float


class OpenedStates:
    """
    The opened states of all indexes under a root, for any number of threads.
    """

    def __init__(
        self,
        root: Path,
        kept: KeptRecords,
        *,
        clock: Clock = time.monotonic,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self._root = root
        self._clock = clock
        self._poll_seconds = poll_seconds
        self._lock = threading.Lock()
        self._served: dict[str, _Served] = {}
        self._left: dict[str, tuple[_Left, ...]] = {}
        self._kept = kept

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

    def read(self, scope: ReadScope, read: Callable[[OpenedState], Answer]) -> Answer:
        """
        Return what is read of a state that sees the scope's version: the present one, or one that
        was left while the request was under way.

        Raises:
            VersionGone: No state that is open sees it.
            IndexUnknown: No index has this name.
            IndexUnusable: Its files are damaged.
            IndexUnavailable: Its files cannot be read.
        """

        def of(state: OpenedState) -> Answer:
            if not state.sees(scope.tenant, scope.version):
                raise VersionGone(str(scope.version))
            return read(state)

        try:
            return self.ask(scope.index, of)
        except VersionGone:
            for left in reversed(self._left.get(scope.index, ())):
                if left.state.sees(scope.tenant, scope.version) and left.state.enter():
                    try:
                        return read(left.state)
                    finally:
                        left.state.leave()
            raise

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
            left, self._left = self._left, {}
        for served_state in served.values():
            served_state.state.retire()
        for one in (one for many in left.values() for one in many):
            one.state.retire()

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
        self._retire_left(index, looked_at)
        try:
            require_there(self._root)
            folder = IndexFolder(self._root, index).current()
            if served is not None and served.state.name == folder.name:
                served.looked_at = looked_at
                return served.state
            state = self._opened(index, folder, served)
        except ContextAssemblerError:
            if self._served.pop(index, None) is not None and served is not None:
                served.state.retire()
            raise
        if served is not None:
            self._leave(index, served.state, state, looked_at)
        self._served[index] = _Served(state, looked_at)
        return state

    def _leave(self, index: str, state: OpenedState, later: OpenedState, at: float) -> None:
        """
        Keep a state open for requests under way whose versions the later one does not see; none
        that has what was purged.
        """
        left = self._left.get(index, ())
        if generations := state.left_behind_by(later):
            with suppress(IndexUnavailable, IndexUnusable, VersionGone):
                state.open(generations)
            left = (*left, _Left(state, at))
        else:
            state.retire()
        kept = tuple(one for one in left if one.state.name >= later.scrubbed)
        self._keep(index, left, kept[-_KEPT_OPEN:])

    def _retire_left(self, index: str, now: float) -> None:
        """
        Close the left states that no request can be under way with.
        """
        left = self._left.get(index, ())
        self._keep(index, left, tuple(one for one in left if now - one.left_at < SETTLE_SECONDS))

    def _keep(self, index: str, left: tuple[_Left, ...], kept: tuple[_Left, ...]) -> None:
        self._left[index] = kept
        for one in left:
            if one not in kept:
                one.state.retire()

    def _opened(self, index: str, folder: StateFolder, served: _Served | None) -> OpenedState:
        for _ in range(_TRIES):
            try:
                with readable(folder.path):
                    state = OpenedState(index, folder, self._kept)
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
