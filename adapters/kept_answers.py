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
        self._store.execute(
            "create table if not exists answers (key text primary key, source_id text, said text)"
        )

    def get(self, key: str) -> str | None:
        """
        Return the answer that is kept under a key.
        """
        with self._lock:
            query = "select said from answers where key = ?"
            row = self._store.execute(query, (key,)).fetchone()
        return None if row is None else str(row[0])

    def keep(self, key: str, source_id: str, said: str) -> None:
        """
        Keep an answer about a source; it is on disk on return.
        """
        row = (key, _plain(source_id), _plain(said))
        with self._lock, self._store:
            self._store.execute("insert or replace into answers values (?, ?, ?)", row)

    def forget(self, source_id: str) -> int:
        """
        Remove every answer about a source, whatever index it is in; return how many there were.
        """
        with self._lock, self._store:
            self._store.execute("pragma secure_delete = on")
            asked = "delete from answers where source_id = ?"
            return self._store.execute(asked, (_plain(source_id),)).rowcount

    def close(self) -> None:
        """
        Close the file.
        """
        self._store.close()


def _plain(text: str) -> str:
    """
    Return the text with lone surrogates, which the file cannot hold, as U+FFFD.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
