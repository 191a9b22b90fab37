"""
A hostile index behind a running service: nothing leaks, nothing breaks, and every case is accounted
for by a disposition, a note and a counter.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
import qdrant_edge as edge
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

from server.settings import Settings
from tests.edge.hostile import Hostile, assert_sound, write
from tests.edge.hostile_cases import CASES, Case
from tests.edge.in_process import running_service
from tests.qdrant_server.server import TestServer

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(
    settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Hostile]:
    with TestServer() as qdrant:
        mine = settings.model_copy(update={"qdrant_url": f"http://127.0.0.1:{qdrant.port}"})
        write(mine, tmp_path_factory.mktemp("documents"))
        async with running_service(mine) as running:
            it = Hostile(running, qdrant)
            it.read()
            yield it


@pytest_asyncio.fixture(loop_scope="module")
async def hostile(served: Hostile) -> AsyncIterator[Hostile]:
    yield served
    served.put_back()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_every_case_has_its_disposition_its_note_and_its_counter(
    hostile: Hostile, case: Case
) -> None:
    chunk, section = (hostile.find(kind, "Fines are never") for kind in ("chunk", "section"))
    key = hostile.points[chunk]["key"]
    for point_id, values in ((chunk, case.chunk), (section, case.section)):
        made = {
            name: value(hostile) if callable(value) else value for name, value in values.items()
        }
        if made:
            hostile.change(point_id, **made)
    if case.deletes:
        # to be put back, it has to stay; to readers it is gone
        hostile.change(section, kind="gone")
    before = hostile.counters()

    reply = await hostile.ask()

    now = hostile.counters()
    rise = {name: value - before[name] for name, value in now.items() if value != before[name]}
    assert_sound(reply)
    fates = {one.chunk_key: one for one in reply.dispositions.list}
    if case.fate is None:
        assert key not in fates
        assert "Fines are never paid back." not in reply.context or case.denied is None
    else:
        told = fates[key]
        assert pb.Disposition.Name(told.disposition) == f"DISPOSITION_{case.fate}"
        notes = {pb.Note.Name(note).removeprefix("NOTE_") for note in told.notes}
        assert {note for note in notes if note.startswith("PARENT")} == (
            {case.note} if case.note else set()
        )
        assert rise[f"dispositions_{case.fate.lower()}"] >= 1
        if case.fate == "PACKED":
            assert "Fines are never paid back." in reply.context
    if case.note:
        assert rise[f"candidate_notes_{case.note.lower()}"] >= 1
    if case.denied:
        assert rise[f"denied_points_{case.denied}"] >= 1
    else:
        assert not any(name.startswith("denied_points") for name in rise)


async def test_ids_of_another_type_do_not_matter(hostile: Hostile) -> None:
    chunk = hostile.find("chunk", "Trains")
    (record,) = hostile.shard.retrieve([chunk], with_payload=True, with_vector=True)
    vectors = dict(record.vector)
    hostile.shard.update(
        edge.UpdateOperation.upsert_points([edge.Point(7, vectors, hostile.points[chunk])])
    )

    reply = await hostile.ask(queries=[service_pb.Query(text="How are trains booked?")])

    assert_sound(reply)
    assert reply.context.count("Trains are booked in second class.") == 1
    hostile.shard.update(edge.UpdateOperation.delete_points([7]))


async def test_anything_else_neither_leaks_nor_breaks(hostile: Hostile) -> None:
    draw = random.Random(17)
    mine = [
        point_id
        for point_id, payload in hostile.points.items()
        if payload["tenant"] == "acme" and payload["source_id"] == "rules.md"
    ]
    foreign = [
        payload["key"] for payload in hostile.points.values() if payload["source_id"] != "rules.md"
    ]
    tally: Counter[str] = Counter()
    for _ in range(120):
        for point_id in draw.sample(mine, k=draw.randint(1, 3)):
            name = draw.choice(sorted(hostile.points[point_id]))
            hostile.change(point_id, **{name: hostile_value(draw, foreign)})
        reply = await hostile.ask(
            expansion=pb.Expansion(
                mode=draw.choice(
                    [
                        pb.EXPANSION_MODE_AUTO,
                        pb.EXPANSION_MODE_CHUNK,
                        pb.EXPANSION_MODE_SECTION,
                    ]
                )
            ),
            layout=pb.Layout(format=draw.choice([pb.FORMAT_MARKDOWN, pb.FORMAT_XML])),
        )
        assert_sound(reply)
        tally[
            pb.Disposition.Name(reply.dispositions.list[0].disposition)
            if reply.dispositions.list
            else "nothing"
        ] += 1
        hostile.put_back()

    assert sum(tally.values()) == 120
    assert len(tally) >= 2


def hostile_value(draw: random.Random, foreign: list[str]) -> Any:
    return draw.choice(
        [
            *(None, True, -1, 0, 1, 3, 2**53, 2**62, 0.5, "", "x", "12345", [], {}, [1, 2]),
            *([[]], ["x"], {"a": {"b": 1}}, [3, 2, 1, 0], [0, 9, 4, 12], "pppp", ["staff"]),
            draw.choice(foreign),
            [draw.choice(foreign)],
            [draw.randint(0, 200) for _ in range(draw.randint(1, 6))],
            "s" * draw.randint(1, 300),
        ]
    )
