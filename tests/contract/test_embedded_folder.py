"""
What is special about an index in a folder: several processes, one writer, and states that are kept.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.edge_index import EdgeIndex
from adapters.edge_store import EdgeStore
from assembler.errors import IndexUnavailable, IndexUnusable
from assembler.scope import ReadScope, Scope
from tests.contract.animals import CATS, DOGS, SEARCH
from tests.contract.corpus import Source, hits_of, manifest, publish, write
from tests.contract.hand_clock import HandClock


def states(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "docs" / "states").iterdir())


async def test_a_publication_is_seen_after_a_second_without_restart(
    tmp_path: Path, edge_index: EdgeIndex, clock: HandClock
) -> None:
    store = EdgeStore(tmp_path)
    publish(store, [CATS])
    assert (await edge_index.resolve("docs", "")).version.revision == 1

    publish(store, [DOGS])

    assert (await edge_index.resolve("docs", "")).version.revision == 1
    clock.seconds = 1.0
    assert (await edge_index.resolve("docs", "")).version.revision == 2


async def test_a_refresh_sees_a_publication_at_once(tmp_path: Path, edge_index: EdgeIndex) -> None:
    store = EdgeStore(tmp_path)
    publish(store, [CATS])
    await edge_index.resolve("docs", "")
    publish(store, [DOGS])

    assert (await edge_index.resolve("docs", "", refresh=True)).version.revision == 2


async def test_reads_go_on_while_states_change(
    tmp_path: Path, edge_index: EdgeIndex, clock: HandClock
) -> None:
    store = EdgeStore(tmp_path)
    version = publish(store, [CATS])
    scope = ReadScope("docs", version, readers_required=False, asked=Scope())
    expected = await edge_index.search_text(scope, SEARCH)

    async def read() -> None:
        for _ in range(40):
            clock.seconds += 0.3
            assert await edge_index.search_text(scope, SEARCH) == expected
            await asyncio.sleep(0)

    async def change() -> None:
        for number in range(4):
            await asyncio.to_thread(publish, store, [Source(f"{number}", ("Birds sing.",))])

    await asyncio.gather(read(), read(), change())

    assert (await edge_index.resolve("docs", "", refresh=True)).version.revision == 5


async def test_the_last_states_are_kept_and_leftovers_swept(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path)
    for number in range(5):
        publish(store, [Source(f"{number}", ("Birds sing.",))])
    assert states(tmp_path) == ["00000003", "00000004", "00000005"]

    (tmp_path / "docs" / "states" / "00000006").mkdir()
    (tmp_path / "docs" / "states" / "00000009").mkdir()
    with store.publication("docs", ""):
        assert states(tmp_path) == ["00000003", "00000004", "00000005", "00000006"]
    assert states(tmp_path) == ["00000003", "00000004", "00000005"]


async def test_a_copy_keeps_the_holes_of_the_engines_files(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path)
    publish(store, [CATS])
    publish(store, [DOGS])

    used = sum(
        path.stat().st_blocks * 512
        for path in (tmp_path / "docs" / "states" / "00000002").rglob("*")
    )

    assert used < 8_000_000


SCRIPT = """
import sys
from pathlib import Path
from adapters.edge_store import EdgeStore
from tests.contract.corpus import manifest
with EdgeStore(Path(sys.argv[1])).publication("docs", "") as publication:
    publication.open_generation(manifest())
    print("open", flush=True)
    sys.stdin.read()
"""


async def test_another_process_is_named_and_its_kill_harms_nothing(
    tmp_path: Path, edge_index: EdgeIndex
) -> None:
    store = EdgeStore(tmp_path)
    publish(store, [CATS])
    other = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert other.stdout
    assert other.stdin
    assert other.stdout.readline() == b"open\n"

    with (
        pytest.raises(IndexUnavailable, match=f"process {other.pid}"),
        store.publication("docs", ""),
    ):
        pass
    other.kill()
    other.wait()
    other.stdout.close()
    other.stdin.close()

    publish(store, [DOGS])
    assert (await edge_index.resolve("docs", "")).version.revision == 2
    assert states(tmp_path) == ["00000001", "00000002"]


async def test_two_readers_serve_one_folder(tmp_path: Path, edge_index: EdgeIndex) -> None:
    version = publish(EdgeStore(tmp_path), [CATS])
    scope = ReadScope("docs", version, readers_required=False, asked=Scope())
    other = EdgeIndex(tmp_path)

    assert await edge_index.search_text(scope, SEARCH) == await other.search_text(scope, SEARCH)

    await other.close()


async def test_a_lost_current_does_not_lose_the_states(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path)
    publish(store, [CATS])
    publish(store, [DOGS])
    (tmp_path / "docs" / "CURRENT").unlink()

    with pytest.raises(IndexUnusable, match="CURRENT is missing"), store.publication("docs", ""):
        pass

    assert states(tmp_path) == ["00000001", "00000002"]


async def test_a_broken_off_first_publication_is_begun_anew(
    tmp_path: Path, edge_index: EdgeIndex
) -> None:
    store = EdgeStore(tmp_path)
    with store.publication("docs", "") as publication:
        publication.open_generation(manifest())
        write(publication, "", [DOGS])

    publish(store, [CATS])

    assert [row.source_id for row in await edge_index.rows("docs", "", "cats")] == ["cats"]
    assert await edge_index.rows("docs", "", "dogs") == []


async def test_a_purge_leaves_no_byte_of_a_text_in_any_file(
    tmp_path: Path, edge_index: EdgeIndex
) -> None:
    store = EdgeStore(tmp_path)
    birds = Source("birds", ("Quetzalcoatlus soars.", "It glides."))
    publish(store, [CATS, birds])
    publish(store, [DOGS])
    scope = ReadScope(
        "docs",
        (await edge_index.resolve("docs", "")).version,
        readers_required=False,
        asked=Scope(),
    )
    expected = await edge_index.search_text(scope, SEARCH)
    assert holding(tmp_path, b"Quetzalcoatlus")

    with store.upkeep("docs", "") as upkeep:
        upkeep.purge("birds", at=0.0)

    assert holding(tmp_path, b"Quetzalcoatlus") == []
    assert len(states(tmp_path)) == 1
    await edge_index.resolve("docs", "", refresh=True)
    found = await edge_index.search_text(scope, SEARCH)
    assert [hit.chunk.key for hit in hits_of(found[0])] == [
        hit.chunk.key for hit in hits_of(expected[0])
    ]
    publish(store, [Source("fish", ("Fish swim.",))])
    assert holding(tmp_path, b"Quetzalcoatlus") == []


def holding(root: Path, word: bytes) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file() and word in path.read_bytes()]
