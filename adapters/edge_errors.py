"""
What the system says of the files of embedded indexes, as errors of ours.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assembler.errors import IndexUnavailable


def require_there(root: Path) -> None:
    """
    Refuse to take a root that is gone for one without indexes.

    Raises:
        IndexUnavailable: There is no such folder.
    """
    with readable(root):
        if not root.is_dir():
            raise IndexUnavailable(f"{root} is no folder, or no longer; see the setting data_dir")


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """
    Tell what the system says of files below a path.

    Raises:
        IndexUnavailable: They cannot be read.
    """
    try:
        yield
    except OSError as error:
        raise unreadable(path, error) from error


def being_written(index: str, holder: str) -> IndexUnavailable:
    """
    Return what a second writer is told.
    """
    return IndexUnavailable(
        f"index {index!r} is being written by process {holder}; try again when it has ended"
    )


def damaged(what: str) -> str:
    """
    Return the problem of a file that does not hold what was written.
    """
    return f"{what} is damaged; publish the index again into an empty folder"


def unreadable(path: Path, error: OSError) -> IndexUnavailable:
    """
    Return what a file that cannot be read means.
    """
    return IndexUnavailable(
        f"{path} cannot be read: {error.strerror}; check who may read it, and the limit of open "
        "files"
    )


def unwritable(path: Path, error: OSError | shutil.Error) -> IndexUnavailable:
    """
    Return what a file that cannot be written means.
    """
    reason = getattr(error, "strerror", None) or "copying it failed"
    return IndexUnavailable(
        f"{path} cannot be written: {reason}; an embedded index needs a folder that this user can "
        "write, with space for a second copy of it"
    )
