"""
A build on the embedded engine that is killed at ten random moments.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from adapters.edge_index import EdgeIndex
from adapters.edge_store import EdgeStore
from adapters.records import LedgerRow
from adapters.sparse_copy import copy_with_holes
from adapters.vector_journal import VectorJournal
from assembler.model import PointKind
from assembler.ports import DenseSearch, SparseSearch
from assembler.scope import ReadScope, Scope
from indexer.verify import verify_index
from tests.build_runner import SlowEmbedder
from tests.fakes import hash_vector

KILLS = 10
QUESTIONS = ("page 3", "the colour of item 7", "nothing at all", "item 12 of page 20")


class Runner:
    """
    The process that runs builds of a folder into one place.
    """

    def __init__(self, root: Path, docs: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.build_runner", str(root), str(docs)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def run(self, killed_after: float | None = None) -> list[str]:
        """
        Run once, killed after so many seconds unless it has ended; return what it printed.
        """
        assert self.process.stdin
        assert self.process.stdout
        print("run", file=self.process.stdin, flush=True)
        child = int(self.process.stdout.readline().removeprefix("pid "))
        timer = None
        if killed_after is not None:
            timer = threading.Timer(killed_after, os.kill, (child, signal.SIGKILL))
            timer.start()
        lines: list[str] = []
        while (line := self.process.stdout.readline().strip()) != "ended":
            lines.append(line)
        if timer is not None:
            timer.cancel()
            timer.join()
        return lines

    def close(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def write_pages(docs: Path, numbers: range, word: str) -> None:
    for number in numbers:
        items = "".join(
            f"The {word} of item {item} on page {number} is the {item * number % 17}th.\n\n" * 4
            for item in range(12)
        )
        (docs / f"{number:02}.md").write_text(f"# Page {number}\n\n{items}")


async def answers(root: Path) -> list[object]:
    index = EdgeIndex(root, is_exact=True)
    state = await index.resolve("docs", "")
    scope = ReadScope("docs", state.version, readers_required=False, asked=Scope())
    found: list[object] = [state.version]
    found += await index.search_text(
        scope, [SparseSearch(text, kind, 20) for text in QUESTIONS for kind in PointKind]
    )
    vectors = [hash_vector(text, 8) for text in QUESTIONS]
    found += await index.search_vectors(scope, [DenseSearch(vector, 20) for vector in vectors])
    await index.close()
    return found


def rows(root: Path) -> tuple[LedgerRow, ...]:
    return EdgeStore(root).listings()[0].ledger.rows


def revision(root: Path) -> int:
    return EdgeStore(root).listings()[0].ledger.revision


def saved(root: Path) -> int:
    journal = VectorJournal(root / "docs" / "vectors.journal", SlowEmbedder().spec)
    return len(journal._records())


@pytest.mark.parametrize("seed", [7])
async def test_a_build_that_is_killed_ten_times_ends_as_if_it_had_not_been(
    tmp_path: Path, seed: int
) -> None:
    docs, calm, killed = tmp_path / "docs", tmp_path / "calm", tmp_path / "killed"
    docs.mkdir()
    write_pages(docs, range(8), "size")
    for root in (calm, killed):
        first = Runner(root, docs)
        assert first.run()[-1].startswith("done")
        first.close()
    write_pages(docs, range(4, 40), "colour")
    before = await answers(killed)

    undisturbed = Runner(calm, docs)
    started = time.perf_counter()
    made = int(undisturbed.run()[-1].split()[1])
    length = time.perf_counter() - started
    undisturbed.close()

    draw, runner, kills = random.Random(seed), Runner(killed, docs), 0
    begun = tmp_path / "begun"
    copy(killed, begun)
    while kills < KILLS:
        had = saved(killed)
        lines = runner.run(killed_after=draw.uniform(0.0, length))
        if revision(killed) != revision(begun):
            # It was published before its end, whether it could say so or not; the others begin anew.
            shutil.rmtree(killed)
            copy(begun, killed)
            continue
        kills += 1
        reported = max((int(line.split()[1]) for line in lines), default=0)
        assert saved(killed) >= had + reported
        assert await answers(killed) == before
    kept = saved(killed)
    end = runner.run()[-1]
    runner.close()

    assert int(end.split()[1]) == made - kept
    assert await answers(killed) == await answers(calm)
    assert rows(killed) == rows(calm)
    assert verify_index("docs", "", EdgeStore(killed)).problems == []
    assert saved(killed) == 0


def copy(root: Path, to: Path) -> None:
    shutil.copytree(root, to, copy_function=copy_with_holes)
