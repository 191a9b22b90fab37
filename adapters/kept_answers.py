"""
Answers of a chat model, kept on disk by what was asked.
"""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path


class KeptAnswers:
    """
    A file of answers; several threads may use it, and several processes.
    """

    def __init__(self, path: Path) -> None:
        """
        Open the SQLite file, made where it is missing.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._store = sqlite3.connect(path, check_same_thread=False)
        self._store.execute("create table if not exists answers (key text primary key, said text)")

    def get(self, key: str) -> str | None:
        """
        Return the answer that is kept under a key.
        """
        with self._lock:
            query = "select said from answers where key = ?"
            row = self._store.execute(query, (key,)).fetchone()
        return None if row is None else str(row[0])

    def keep(self, key: str, said: str) -> None:
        """
        Keep an answer; it is on disk on return.
        """
        with self._lock, self._store:
            self._store.execute("insert or replace into answers values (?, ?)", (key, said))

    def close(self) -> None:
        """
        Close the file.
        """
        self._store.close()
