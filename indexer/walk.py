"""
The files below a path, and what cannot be one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from indexer.read_source import Unreadable

LEADS_OUT = "is a link to a file outside of the folder and not followed; give the file itself"


def files_of(
    root: Path, skipped: list[Unreadable], hidden: list[str] | None = None
) -> Iterator[tuple[Path, str]]:
    """
    Yield the files of a path in order, each with its name below the path; a file is its own.

    Hidden files and folders are passed over. Links to files inside the path are followed; those to
    folders, which may lead in circles, and those out of the path are not.

    Args:
        root: A file or a folder.
        skipped: Gets what is no file or leads out, and folders that cannot be opened, with the
            reason.
        hidden: Gets the hidden files and folders below the path.
    """
    is_folder = root.is_dir()
    passed = [] if hidden is None else hidden
    top = root.resolve()
    for path in sorted(_below(root, skipped, passed)) if is_folder else [root]:
        if path.is_file():
            if is_folder and path.is_symlink() and not path.resolve().is_relative_to(top):
                skipped.append(Unreadable(shown(path), LEADS_OUT))
                continue
            yield path, path.relative_to(root).as_posix() if is_folder else path.name
        else:
            skipped.append(Unreadable(shown(path), _why_no_file(path)))


def shown(path: Path) -> str:
    """
    Return a path as text, also where its name is none.
    """
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _below(root: Path, skipped: list[Unreadable], hidden: list[str]) -> Iterator[Path]:
    def note(error: OSError) -> None:
        reason = f"cannot be opened: {error.strerror}"
        skipped.append(Unreadable(shown(Path(os.fsdecode(error.filename))), reason))

    for folder, folders, files in os.walk(root, onerror=note):
        place = Path(folder)
        hidden += [shown(place / one) for one in sorted(folders + files) if one.startswith(".")]
        folders[:] = [one for one in folders if not one.startswith(".")]
        links = [one for one in folders if (place / one).is_symlink()]
        for name in (*links, *files):
            if not name.startswith("."):
                yield place / name


def _why_no_file(path: Path) -> str:
    if path.is_symlink():
        if path.is_dir():
            return "is a link to a folder and not followed; give the folder itself"
        return "is a link that leads nowhere"
    return "is no file but a pipe, socket or device"
