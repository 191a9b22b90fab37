"""
Ports that answer the same question once: budgets, fills and profiles search a question once.
"""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Sequence
from dataclasses import is_dataclass
from typing import Any

from assembler.model import Section
from assembler.ports import ChunkIndex
from assembler.scope import ReadScope

MOST_ANSWERS = 512


class Memo:
    """
    Stands for a port: a call with equal arguments is answered as before, whatever the method.

    The oldest answers go when there are `MOST_ANSWERS`. What an index publishes meanwhile is not
    seen.
    """

    def __init__(self, port: object) -> None:
        self._port = port
        self._answers: dict[Hashable, Any] = {}
        self.asked = 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        if not inspect.iscoroutinefunction(method):
            return method

        async def answer(*values: object, **named: object) -> Any:
            key = (name, _hashable(values), _hashable(sorted(named.items())))
            if key not in self._answers:
                self.asked += 1
                self._answers[key] = await method(*values, **named)
                if len(self._answers) > MOST_ANSWERS:
                    del self._answers[next(iter(self._answers))]
            return self._answers[key]

        return answer


class MemoIndex(Memo):
    """
    Stands for an index; sections are remembered one by one, since budgets read different many.
    """

    def __init__(self, port: ChunkIndex) -> None:
        super().__init__(port)
        self._index = port
        self._sections: dict[tuple[ReadScope, str], Section | None] = {}

    async def sections(self, scope: ReadScope, keys: Sequence[str]) -> Sequence[Section]:
        """
        Return the sections that exist and lie in the scope.
        """
        missing = [key for key in keys if (scope, key) not in self._sections]
        if missing:
            self.asked += 1
            found = {one.key: one for one in await self._index.sections(scope, missing)}
            self._sections.update({(scope, key): found.get(key) for key in missing})
        wanted = (self._sections[scope, key] for key in keys)
        return [section for section in wanted if section is not None]


def _hashable(value: object) -> Hashable:
    """
    Return something that is equal for equal arguments.
    """
    if isinstance(value, list | tuple):
        return tuple(_hashable(one) for one in value)
    if is_dataclass(value):
        return repr(value)
    return value if isinstance(value, Hashable) else repr(value)
