"""
Copies of files that keep their holes.

The engine reserves its storage in files of 32 MB that are nearly empty at first: copied byte by
byte, a state of a few pages would take 260 MB on the disk, and a second.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator


def copy_with_holes(source: str, target: str) -> str:
    """
    Copy a file and its mode, and only those ranges that hold data.
    """
    reading = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(reading).st_size
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        writing = os.open(target, flags, 0o600)
        try:
            os.ftruncate(writing, size)
            for start, end in _ranges(reading, size):
                _copy_range(reading, writing, start, end)
        finally:
            os.close(writing)
    finally:
        os.close(reading)
    shutil.copymode(source, target)
    return target


def _ranges(file: int, size: int) -> Iterator[tuple[int, int]]:
    end = 0
    while end < size:
        try:
            start = os.lseek(file, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole is left
                return
            raise
        end = os.lseek(file, start, os.SEEK_HOLE)
        yield start, end


def _copy_range(reading: int, writing: int, start: int, end: int) -> None:
    os.lseek(writing, start, os.SEEK_SET)
    while start < end:
        sent = os.sendfile(writing, reading, start, end - start)
        if sent == 0:
            return
        start += sent
