"""
The folder of an embedded index: states, the one that is current, and the writer's lock.

``<root>/<index>/CURRENT`` names a folder of ``<root>/<index>/states/``; a publication copies it,
changes the copy and renames a new CURRENT into place. States that CURRENT has left are kept for a
while, since a serving process may still be opening them.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from adapters.edge_errors import being_written, damaged, readable, unreadable, unwritable
from adapters.edge_paths import StateFolder
from adapters.index_names import is_index_name, require_index_name
from adapters.sparse_copy import copy_with_holes
from assembler.errors import IndexUnavailable, IndexUnknown, IndexUnusable

Read = TypeVar("Read")

KEPT_STATES = 2
"""How many states before the current one are kept."""

_STATE = re.compile(r"[0-9]{8}")
_FIRST = "00000001"


class IndexFolder:
    """
    The folder of one index.
    """

    def __init__(self, root: Path, index: str) -> None:
        require_index_name(index)
        self._index = index
        self._path = root / index
        self._states = self._path / "states"
        self._current = self._path / "CURRENT"

    def current(self) -> StateFolder:
        """
        Return the current state.

        Raises:
            IndexUnknown: Nothing was ever published here.
            IndexUnusable: CURRENT does not name a state that is there.
            IndexUnavailable: The folder cannot be read.
        """
        name, before = self._named(), ""
        with readable(self._states):
            while not (_STATE.fullmatch(name) and (self._states / name).is_dir()):
                if name == before:
                    raise IndexUnusable(self._index, damaged("CURRENT"))
                name, before = self._named(), name
        return StateFolder(self._states / name)

    def read(self, read: Callable[[StateFolder], Read]) -> Read:
        """
        Return what is read of the current state, of a later one where it is removed meanwhile.

        Raises:
            IndexUnknown: Nothing was ever published here.
            IndexUnusable: Its files are damaged.
        """
        while True:
            state = self.current()
            try:
                with readable(state.path):
                    found = read(state)
            except (IndexUnavailable, IndexUnusable):
                if self.current().name == state.name:
                    raise
                continue
            if self.current().name == state.name:
                return found

    def _named(self) -> str:
        try:
            return self._current.read_text().strip()
        except (FileNotFoundError, NotADirectoryError):
            raise IndexUnknown(self._index) from None
        except UnicodeDecodeError as error:
            raise IndexUnusable(self._index, damaged("CURRENT")) from error
        except OSError as error:
            raise unreadable(self._current, error) from error

    @contextmanager
    def writing(self) -> Iterator[None]:
        """
        Hold the index's writer lock, which ends with the process whatever happens to it.

        Raises:
            IndexUnavailable: Another process holds it, or the folder cannot be written.
        """
        path = self._path / "lock"
        try:
            self._states.mkdir(parents=True, exist_ok=True)
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise unwritable(self._path, error) from error
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(lock, 32, 0).decode(errors="replace").strip() or "unknown"
                raise being_written(self._index, holder) from None
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
            yield
        finally:
            os.close(lock)

    def begin(self) -> StateFolder:
        """
        Return a private copy of the current state, or an empty one; call it under the lock.

        Leftovers of runs that were broken off are removed first.

        Raises:
            IndexUnavailable: The folder cannot be written, or the disk is full.
        """
        try:
            current: StateFolder | None = self.current()
        except IndexUnknown:
            current = None
            self._require_first()
        number = int(current.name) if current else 0
        try:
            for path in self._states.iterdir():
                if not _STATE.fullmatch(path.name) or int(path.name) > number:
                    shutil.rmtree(path, ignore_errors=True)
            copy = StateFolder(self._states / f"{number + 1:08d}")
            if current is None:
                copy.path.mkdir()
            else:
                with opening(current):
                    shutil.copytree(current.path, copy.path, copy_function=copy_with_holes)
                copy.build.unlink(missing_ok=True)
        except (OSError, shutil.Error) as error:
            # Half a copy would keep a full disk full.
            shutil.rmtree(self._states / f"{number + 1:08d}", ignore_errors=True)
            raise unwritable(self._path, error) from error
        return copy

    @property
    def journal(self) -> Path:
        """
        Return the file of vectors that no published state has yet.
        """
        return self._path / "vectors.journal"

    def waiting(self) -> StateFolder | None:
        """
        Return the state that waits to be published, or None; call it under the lock.
        """
        try:
            number = int(self.current().name)
        except IndexUnknown:
            number = 0
        state = StateFolder(self._states / f"{number + 1:08d}")
        return state if state.build.is_file() else None

    def empty(self) -> StateFolder:
        """
        Return a state that is not there, for those who only look.
        """
        return StateFolder(self._states / "none")

    def keep(self, state: StateFolder) -> None:
        """
        Make a state that waits to be published durable.

        Raises:
            IndexUnavailable: The folder cannot be written, or the disk is full.
        """
        try:
            _sync_tree(state.path)
            _sync(self._states)
        except OSError as error:
            raise unwritable(self._path, error) from error

    def commit(self, state: StateFolder, *, kept_states: int = KEPT_STATES) -> None:
        """
        Make the state durable, then current, in one rename.

        Raises:
            IndexUnavailable: The folder cannot be written, or the disk is full.
        """
        self.keep(state)
        try:
            write_durably(self._current, f"{state.name}\n")
        except OSError as error:
            raise unwritable(self._path, error) from error
        # It is published, whatever becomes of what is left of the way there.
        for left in (state.build, self.journal):
            with suppress(OSError):
                left.unlink(missing_ok=True)
        for path in self._states.iterdir():
            if int(path.name) < int(state.name) - kept_states:
                shutil.rmtree(path, ignore_errors=True)

    def _require_first(self) -> None:
        if any(path.name > _FIRST for path in self._states.iterdir()):
            problem = "CURRENT is missing; write the name of its newest good state into it again"
            raise IndexUnusable(self._index, problem)

    def discard(self, state: StateFolder) -> None:
        """
        Remove a state, unless it became current.
        """
        with suppress(IndexUnavailable, IndexUnknown, IndexUnusable):
            if self._named() == state.name:
                return
        shutil.rmtree(state.path, ignore_errors=True)


@contextmanager
def opening(state: StateFolder) -> Iterator[None]:
    """
    Keep other processes from opening the state's shards: loading rewrites small files of theirs.

    Raises:
        IndexUnavailable: The folder cannot be written.
    """
    try:
        lock = os.open(state.path / "opening", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise unwritable(state.path, error) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def index_names(root: Path) -> list[str]:
    """
    Return the names of all published indexes under a root, sorted.

    Raises:
        IndexUnavailable: The root cannot be read.
    """
    with readable(root):
        if not root.is_dir():
            return []
        return sorted(
            path.name
            for path in root.iterdir()
            if is_index_name(path.name) and (path / "CURRENT").is_file()
        )


def write_durably(path: Path, text: str) -> None:
    """
    Replace a file as a whole: a reader, and a machine that lost power, see the old or the new one.
    """
    draft = path.with_name(f"{path.name}.draft")
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    _sync(path.parent)


def _sync_tree(root: Path) -> None:
    for folder, _, names in os.walk(root):
        for name in names:
            _sync(Path(folder) / name)
        _sync(Path(folder))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
